package smoltest_test

import (
	"context"
	"flag"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/smol-machines/smol-go/smol"
	"github.com/smol-machines/smol-go/smol/cloud"
	"github.com/smol-machines/smol-go/smol/local"
	"github.com/smol-machines/smol-go/smol/smoltest"
)

// The suite runs against a real service if one of the first two is given:
//
//	go test ./smol/smoltest -run TestService -smol.local unix:///tmp/smolvm.sock
//	SMOL_CLOUD_TOKEN=... go test ./smol/smoltest -run TestService -smol.cloud https://api.smolmachines.com -smol.cloud.ceiling 500000
//
// It makes some sixty small machines, one after the other, and deletes them.
var (
	localURL     = flag.String("smol.local", "", "run the suite against the local service at this `URL`")
	cloudURL     = flag.String("smol.cloud", "", "run the suite against the cloud at this `URL`, with the key in SMOL_CLOUD_TOKEN")
	cloudCeiling = flag.Int64("smol.cloud.ceiling", 0, "the most that the suite may cost in the cloud, in `micros` of a dollar; required unless -smol.cloud is on the loopback")
	serviceImage = flag.String("smol.image", "alpine:3.20", "the `image` of the machines of a real service")
	namePrefix   = flag.String("smol.prefix", "", "what the `names` of all machines begin with; if empty it is made up")
)

// serviceOptions are for a real service, of which nothing is to be asked that costs much.
func serviceOptions(fleet *smol.Fleet) *smoltest.BackendOptions {
	return &smoltest.BackendOptions{
		New: func(testing.TB) *smol.Fleet { return fleet }, Image: *serviceImage, Prefix: *namePrefix, Many: -1,
	}
}

func TestServiceLocal(t *testing.T) {
	if *localURL == "" {
		return // the stand-ins are tested by TestLocalBackend
	}
	svc, err := local.New(&local.Options{URL: *localURL})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	smoltest.TestBackend(t, serviceOptions(svc.Fleet))
}

func TestServiceCloud(t *testing.T) {
	if *cloudURL == "" {
		return // the stand-ins are tested by TestCloudBackend
	}
	o := cloud.OptionsFromEnv()
	o.URL = *cloudURL
	testCloudService(t, o, *cloudCeiling, "")
}

// testCloudService runs the suite and keeps an eye on what it costs.
func testCloudService(t *testing.T, o *cloud.Options, ceiling int64, only string) {
	t.Helper()
	demandCeiling(t, o.URL, ceiling)
	svc, err := cloud.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	b := serviceOptions(svc.Fleet)
	b.Only = only
	if ceiling > 0 {
		watch := &spending{svc: svc, ceiling: cloud.Micros(ceiling)}
		watch.first = watch.total(t)
		b.Each = watch.row
	}
	smoltest.TestBackend(t, b)
}

func demandCeiling(tb testing.TB, url string, ceiling int64) {
	tb.Helper()
	if ceiling <= 0 && !onLoopback(url) {
		tb.Fatalf("%s costs money: say with -smol.cloud.ceiling how many micros at most", url)
	}
}

// spending is what a run of the suite costs.
type spending struct {
	svc            *cloud.Service
	first, ceiling cloud.Micros
}

func (s *spending) total(tb testing.TB) cloud.Micros {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // also when the test is over
	defer cancel()
	account, err := s.svc.Account(ctx)
	if err != nil {
		tb.Fatalf("what the account owes: %v", err)
	}
	return account.Cost.Total
}

// row reads the account before a row, which does not begin once the ceiling is reached, and after it.
func (s *spending) row(tb testing.TB) {
	tb.Helper()
	before := s.total(tb)
	if spent := before - s.first; spent >= s.ceiling {
		tb.Fatalf("%d micros are spent, of %d", spent, s.ceiling)
	}
	tb.Cleanup(func() {
		if cost := s.total(tb) - before; cost > 0 {
			tb.Logf("this cost %d micros", cost)
		}
	})
}

// onLoopback reports whether the URL leads to this host.
func onLoopback(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

func TestCeilingIsDemanded(t *testing.T) {
	for url, want := range map[string]int{
		"https://api.smolmachines.com": 1, "http://localhost.example.com": 1, "http://127.0.0.1:1": 0, "http://[::1]:1": 0, "http://localhost:1": 0,
	} {
		if got := run(t, func(tb testing.TB) { demandCeiling(tb, url, 0) }); len(got) != want {
			t.Errorf("%s without a ceiling: %q", url, got)
		}
		if got := run(t, func(tb testing.TB) { demandCeiling(tb, url, 1) }); len(got) != 0 {
			t.Errorf("%s with a ceiling: %q", url, got)
		}
	}
}

// TestCeilingHolds: no row begins once so much is spent.
func TestCeilingHolds(t *testing.T) {
	clock := smoltest.NewClock(time.Time{})
	c := smoltest.NewCloud(t, &smoltest.CloudOptions{
		Guest: smoltest.BackendGuest(), Clock: clock, Plan: &smoltest.CloudPlan{BaseHour: 1_000_000}, Sweep: -1,
	})
	svc := c.Service(t)
	if _, err := svc.Create(t.Context(), smol.Spec{Image: "alpine"}, nil); err != nil {
		t.Fatal(err)
	}
	s := &spending{svc: svc, ceiling: 1000}
	s.first = s.total(t)
	if got := run(t, func(tb testing.TB) { s.row(tb) }); len(got) != 0 {
		t.Errorf("nothing is spent: %q", got)
	}
	clock.Advance(time.Hour)
	if got := run(t, func(tb testing.TB) { s.row(tb) }); len(got) != 1 || !strings.Contains(got[0], "are spent") {
		t.Errorf("more than the ceiling is spent: %q", got)
	}
}

// TestService runs the suite as on a real service, on stand-ins.
func TestService(t *testing.T) {
	c := smoltest.NewCloud(t, &smoltest.CloudOptions{Guest: smoltest.BackendGuest()})
	testCloudService(t, &cloud.Options{URL: c.URL(), Token: c.Token()}, 1_000_000, "e/") // create, delete, and what else bills
}
