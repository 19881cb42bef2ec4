package cloud_test

import (
	"testing"
	"time"

	"github.com/smol-machines/smol-go/internal/sim/cloud"
)

// What is metered counts at once against the credit, although the bill is not made for each request.
func TestCreditIsFresh(t *testing.T) {
	r := newRig(t, func(o *cloud.Options) { o.Credit, o.Sample = 10000, 1000*time.Hour })
	id := r.up(sized)
	r.clock.Advance(1000 * time.Second) // 20000 for the CPUs, which are not metered yet
	other := r.create("")
	r.must(200, "POST", one(id, "/stop"), "")
	r.must(402, "POST", "/v1/machines", withSource(""))
	r.must(402, "POST", one(other, "/start"), "")
	r.must(204, "DELETE", one(other, ""), "")
}
