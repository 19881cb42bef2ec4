package mcpserver

import "fmt"

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
		runCommand(c),
		runOnce(c),
		readFile(c),
		writeFile(c),
		machineLogs(c),
		pullImage(c),
		pollCommand(c),
		signalCommand(c),
		listCommands(c),
	}
}

// bytesText returns a number of bytes as descriptions tell it.
func bytesText(n int) string {
	if n%1024 == 0 {
		return fmt.Sprintf("%d KiB", n/1024)
	}
	return fmt.Sprintf("%d bytes", n)
}
