package cloud

type language string

// Variants are the languages of code.
func (language) Variants() []string { return []string{"python", "javascript", "node"} }

type machineCodeRequest struct {
	Language language           `serde:"language"`
	Code     string             `serde:"code"`
	Cwd      *string            `serde:"cwd"`
	Env      *map[string]string `serde:"env"`
	Timeout  *uint64            `serde:"timeoutSeconds"`
	User     *string            `serde:"user"`
}

// code runs a text by an interpreter that must be in the image.
func (c *call) code() (any, error) {
	var req machineCodeRequest
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	argv := []string{"node", "-e", req.Code}
	if req.Language == "python" {
		argv = []string{"python3", "-c", req.Code}
	}
	cmd := &machineCommandRequest{Command: commandSpec{argv}, Cwd: req.Cwd, Env: req.Env, Timeout: req.Timeout, User: req.User}
	if err := cmd.check(); err != nil {
		return nil, err
	}
	return c.command(cmd, outputBoth)
}
