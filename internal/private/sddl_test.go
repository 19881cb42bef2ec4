package private_test

import (
	"strings"
	"testing"

	"github.com/smol-machines/smol-go/internal/private"
)

// TestSDDL is how Windows describes who may use a directory.
func TestSDDL(t *testing.T) {
	const me, other = "S-1-5-21-1-2-3-1001", "S-1-5-21-1-2-3-1002"
	for sddl, want := range map[string]string{
		private.PrivateSDDL(me):                                "",
		"O:" + me + "G:DUD:PAI(A;OICI;FA;;;" + me + ")":        "",
		"O:BAG:SYD:(A;OICIID;FA;;;BA)(D;;FA;;;WD)":             "",
		"O:" + me + "D:(A;;FA;;;" + me + ")(A;;0x1200a9;;;BU)": "BU has access",
		"O:" + me + "D:(A;;FA;;;" + other + ")S:(ML;;NW;;;LW)": other + " has access",
		"O:" + other + "G:DUD:P(A;OICI;FA;;;" + me + ")":       "its owner is",
		"O:" + me + "D:NO_ACCESS_CONTROL":                      "no access list",
		"O:" + me + "G:DU":                                     "no access list",
		"O:" + me + "D:(broken)":                               "its access list has",
		"":                                                     "its owner is",
	} {
		got := ""
		if err := private.CheckSDDL(sddl, me); err != nil {
			got = err.Error()
		}
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", sddl, got, want)
		}
	}
}
