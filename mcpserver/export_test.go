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

// AsAnAgentReads returns a text of the library as an error tells it, and what of a hint is left.
func AsAnAgentReads(text string) (message, hint string) {
	return cloudNames.Replace(localNames.Replace(inArguments(text))), hintInArguments(text)
}

// NamesGo finds names that only a Go program can use.
func NamesGo(text string) []string { return goName.FindAllString(text, -1) }
