package mcpserver

import "time"

// configKey is a row of the table of settings.
type configKey struct {
	// name is the key in the file, env the variable of the environment, def the default in the variable's form.
	name, env, def string
	// doc says what it is in a few words.
	doc string
	// value is where it is kept.
	value configValue
	// secret keeps the value out of whatever is printed.
	secret bool
	// emptyCounts makes an empty variable a value; otherwise it is as if unset.
	emptyCounts bool
}

// configKeys returns the table of settings, whose values are the fields of c.
func configKeys(c *Config) []configKey {
	return append(append(localKeys(c), machineKeys(c)...), serverKeys(c)...)
}

func localKeys(c *Config) []configKey {
	return []configKey{
		{name: "smolvm", env: "SMOLVM", def: "smolvm", doc: "the smolvm program", value: textValue{&c.Smolvm, isProgram}},
		{
			name: "minSmolvm", env: "SMOL_MCP_MIN_SMOLVM", def: "1.14.0", doc: "the oldest smolvm that is used; empty: any",
			value: versionValue{&c.MinSmolvm}, emptyCounts: true,
		},
		{name: "localUrl", env: "SMOL_LOCAL_URL", doc: "where a local service is looked for first; one is started only if none is found", value: textValue{&c.LocalURL, isLocalURL}},
		{name: "runtimeDir", env: "SMOL_MCP_RUNTIME_DIR", doc: "directory of socket, record and log, 0700", value: textValue{&c.RuntimeDir, isRuntimeDir}},
		{name: "mountRoots", env: "SMOL_MCP_MOUNT_ROOTS", doc: "directories below which a mount's source must lie", value: pathsValue{&c.MountRoots}},
		{name: "caFile", env: "SMOL_MCP_CA_FILE", doc: "certificates to trust on the way to the cloud", value: textValue{&c.CAFile, isCAFile}},
	}
}

func machineKeys(c *Config) []configKey {
	network := []string{"blocked", "open"}
	return []configKey{
		{name: "machinePrefix", env: "SMOL_MCP_MACHINE_PREFIX", def: "mcp-", doc: "begins the names of ephemeral machines", value: prefixValue{&c.MachinePrefix}},
		{name: "memoryMb", env: "SMOL_MCP_MEMORY_MB", def: "2048", doc: "memory of a machine in MiB", value: intValue{&c.MemoryMiB, 64, 1 << 20}},
		{name: "cpus", env: "SMOL_MCP_CPUS", def: "2", doc: "processors of a machine", value: intValue{&c.CPUs, 1, 255}},
		{name: "networkDefault", env: "SMOL_MCP_NETWORK_DEFAULT", def: "blocked", doc: "egress of create-machine: blocked or open", value: wordValue{&c.NetworkDefault, network}},
		{name: "runOnceNetwork", env: "SMOL_MCP_RUN_ONCE_NETWORK", def: "blocked", doc: "egress of run-once: blocked or open", value: wordValue{&c.RunOnceNetwork, network}},
		{name: "ephemeralTtlSecs", env: "SMOL_MCP_EPHEMERAL_TTL_SECS", def: "3600", doc: "longest life of an ephemeral cloud machine", value: secsValue{&c.EphemeralTTL, time.Minute}},
		{name: "ephemeralAutoStopSecs", env: "SMOL_MCP_EPHEMERAL_AUTO_STOP_SECS", def: "900", doc: "when an idle ephemeral cloud machine stops", value: secsValue{&c.EphemeralAutoStop, time.Minute}},
		{name: "execTimeoutSecs", env: "SMOL_MCP_EXEC_TIMEOUT_SECS", def: "120", doc: "when a command is killed", value: secsValue{&c.ExecTimeout, time.Second}},
		{name: "maxExecTimeoutSecs", env: "SMOL_MCP_MAX_EXEC_TIMEOUT_SECS", def: "900", doc: "the longest timeoutSecs", value: secsValue{&c.MaxExecTimeout, time.Second}},
		{name: "waitSecs", env: "SMOL_MCP_WAIT_SECS", def: "45", doc: "how long a call waits for its command", value: secsValue{&c.Wait, 0}},
		{name: "maxOutputBytes", env: "SMOL_MCP_MAX_OUTPUT_BYTES", def: "65536", doc: "output a result holds of each stream", value: intValue{&c.MaxOutputBytes, 1024, 2 << 20}},
		{name: "readyTimeoutSecs", env: "SMOL_MCP_READY_TIMEOUT_SECS", def: "120", doc: "wait for a machine's first command", value: secsValue{&c.ReadyTimeout, time.Second}},
		{name: "serveStartTimeoutSecs", env: "SMOL_MCP_SERVE_START_TIMEOUT_SECS", def: "60", doc: "wait for a service that is started", value: secsValue{&c.ServeStartTimeout, time.Second}},
		{name: "logsTail", env: "SMOL_MCP_LOGS_TAIL", def: "100", doc: "lines of a log without a cursor", value: intValue{&c.LogsTail, 1, 10_000}},
		{name: "logsPollSecs", env: "SMOL_MCP_LOGS_POLL_SECS", def: "2", doc: "how often a subscribed log is looked at", value: secsValue{&c.LogsPoll, time.Second}},
	}
}

func serverKeys(c *Config) []configKey {
	return []configKey{
		{name: "cloudUrl", env: "SMOL_CLOUD_URL", def: "https://api.smolmachines.com", doc: "the cloud service", value: textValue{&c.CloudURL, isCloudURL}},
		{name: "cloudToken", env: "SMOL_CLOUD_TOKEN", doc: "the key for the cloud", value: textValue{&c.CloudToken, isCloudToken}, secret: true},
		{name: "targets", env: "SMOL_MCP_TARGETS", def: "auto", doc: "fleets that are served: local, cloud, both, auto", value: wordValue{&c.Targets, []string{"local", "cloud", "both", "auto"}}},
		{name: "httpHost", env: "SMOL_MCP_HTTP_HOST", def: "127.0.0.1", doc: "address of the HTTP transport", value: textValue{&c.HTTPHost, isHost}},
		{name: "httpPort", env: "SMOL_MCP_HTTP_PORT", def: "8080", doc: "port of the HTTP transport", value: intValue{&c.HTTPPort, 0, 65535}},
		{name: "httpPath", env: "SMOL_MCP_HTTP_PATH", def: "/mcp", doc: "path of the HTTP transport", value: pathValue{&c.HTTPPath}},
		{name: "httpSessionIdleSecs", env: "SMOL_MCP_HTTP_SESSION_IDLE_SECS", def: "1800", doc: "when an idle HTTP session ends", value: secsValue{&c.HTTPSessionIdle, time.Second}},
		{name: "httpAllowedHosts", env: "SMOL_MCP_HTTP_ALLOWED_HOSTS", doc: "Host headers that are accepted", value: listValue{&c.HTTPAllowedHosts, isHostHeader}},
		{name: "httpAllowedOrigins", env: "SMOL_MCP_HTTP_ALLOWED_ORIGINS", doc: "Origin headers that are accepted", value: listValue{&c.HTTPAllowedOrigins, isOrigin}},
		{name: "authToken", env: "SMOL_MCP_AUTH_TOKEN", doc: "what callers over HTTP must show", value: textValue{&c.AuthToken, isAuthToken}, secret: true},
		{name: "toolsets", env: "SMOL_MCP_TOOLSETS", def: "core,jobs", doc: "groups of tools that are listed", value: toolsetsValue{&c.Toolsets}},
		{name: "readOnly", env: "SMOL_MCP_READ_ONLY", def: "false", doc: "list only tools that change nothing; read-file then boots nothing", value: boolValue{&c.ReadOnly}},
	}
}
