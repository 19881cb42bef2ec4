package mcpserver

// definitions returns every tool there is, in the order of the contract.
func definitions(c *Config) []*definition {
	return []*definition{
		listMachines(c),
		getMachine(c),
		createMachine(c),
		startMachine(c),
		branchMachine(c),
		stopMachine(c),
		deleteMachine(c),
		pullImage(c),
	}
}
