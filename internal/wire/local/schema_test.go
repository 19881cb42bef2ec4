package localwire_test

import (
	"reflect"
	"testing"

	"github.com/smol-machines/smol-go/api"
	localwire "github.com/smol-machines/smol-go/internal/wire/local"
	"github.com/smol-machines/smol-go/internal/wiretest"
)

// TestHandWrittenTypesFollowTheDocument compares the hand-written types with the schemas.
func TestHandWrittenTypesFollowTheDocument(t *testing.T) {
	// network is sent although the document does not ask for it.
	wiretest.FollowsDocument(t, api.LocalJSON, reflect.TypeFor[localwire.CreateMachineRequest](), []string{"network"})
	wiretest.FollowsDocument(t, api.LocalJSON, reflect.TypeFor[localwire.MachineInfo](), nil)
}
