package mcpserver

// Setting is a row of the table of settings, for the test of its documentation.
type Setting struct{ Name, Env, Default, Doc, Type string }

// Settings returns the table of settings.
func Settings() []Setting {
	var out []Setting
	for _, k := range configKeys(&Config{}) {
		out = append(out, Setting{k.name, k.env, k.def, k.doc, string(k.value.json())})
	}
	return out
}
