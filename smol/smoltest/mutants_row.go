package smoltest

import "slices"

// rowsOfMutants are the names of mutants by the row that finds their fault. Some are found by other rows too.
var rowsOfMutants = map[string][]string{
	"list/left early and again":          {"list remembers"},
	"exec/exit codes":                    {"exit code zero", "output trimmed", "exit code of 7 bits", "exit code one"},
	"files/missing":                      {"missing file is empty"},
	"exec/once":                          {"size lie", "download cut, size too", "download cut", "exec twice"},
	"create/cancelled before":            {"cancelled create left behind"},
	"files/on the wire":                  {"upload keeps", "upload appends"},
	"command/input":                      {"upload cut", "upload of text"},
	"create/name taken":                  {"upload is empty", "second create replaces", "second create accepted"},
	"create/image missing":               {"missing is there", "missing is denied"},
	"exec/cancelled":                     {"cancelled is unavailable", "errors without type", "deaf exec"},
	"exec/hostile requests":              {"errors without class", "errors without words", "bad arguments repaired"},
	"inspect/missing":                    {"errors without status"},
	"create/labels":                      {"list ignores labels", "list fails in silence", "labels dropped"},
	"list/each once":                     {"list of names", "answers of another machine"},
	"create/record":                      {"listed twice", "list without the first", "an orphan", "delete is a stop", "delete does nothing"},
	"create/arguments are not written":   {"spec written"},
	"create/hostile names":               {"name repaired"},
	"list/many":                          {"list of 100"},
	"create/runs":                        {"network turned", "resources dropped"},
	"delete/gone":                        {"not found is success"},
	"inspect/the right machine":          {"stop refused when stopped"},
	"stop/keeps disks and ends commands": {"stop lies", "stop does nothing"},
	"start/returns when it runs":         {"start too early"},
	"start/again":                        {"start refused when running", "start is a restart"},
	"exec/request is not written":        {"request written"},
	"exec/user":                          {"user dropped"},
	"exec/streams apart, exact bytes":    {"empty arguments dropped", "cut at NUL", "not UTF-8 replaced", "CR lost", "stderr lost", "stderr in stdout"},
	"exec/arguments":                     {"arguments trimmed"},
	"exec/directory":                     {"directory dropped"},
	"exec/environment":                   {"environment reversed", "environment dropped"},
	"exec/long output":                   {"long output cut"},
	"job/found and read on by another":   {"answers remembered"},
	"job/listed, searched, removed":      {"ids of jobs cut"},
	"exec/timeout":                       {"timeout dropped"},
}

// Row returns the name of a row that finds the fault, for [BackendOptions].Only. It is empty for a mutant that is not of [Mutants].
func (m Mutant) Row() string {
	for row, names := range rowsOfMutants {
		if slices.Contains(names, m.Name) {
			return row
		}
	}
	return ""
}
