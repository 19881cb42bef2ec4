package cloud

import (
	"math"
	"time"
)

// meter is for how long a machine had what. An end that is zero has not come yet.
type meter struct {
	Up   []upSpan   `json:"up,omitempty"`
	Disk []diskSpan `json:"disk,omitempty"`
	// Sampled is until when CPU and memory of the last span were metered.
	Sampled time.Time `json:"sampled,omitzero"`
}

type upSpan struct {
	From     time.Time `json:"from"`
	To       time.Time `json:"to,omitzero"`
	CPUs     uint32    `json:"cpus"`
	MemoryMB uint32    `json:"memoryMb"`
}

type diskSpan struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"`
	GB   uint64    `json:"gb"`
}

// imageDisk is how large the disk of a machine is, in GB, that did not ask for one.
const imageDisk = 10

// run notes that the machine runs from now on; disk that it has one.
func (m *meter) run(now time.Time, r *resources) {
	m.Up = append(m.Up[:len(m.Up):len(m.Up)], upSpan{From: now, CPUs: r.CPUs, MemoryMB: r.MemoryMB})
	m.Sampled = now
}

func (m *meter) disk(now time.Time, r *resources) {
	m.Disk = append(m.Disk[:len(m.Disk):len(m.Disk)], diskSpan{From: now, GB: valueOr(r.DiskGB, imageDisk)})
}

// halt notes that it does not run any more, with a last sample; drop that the disk is gone too.
func (m *meter) halt(now time.Time) {
	if n := len(m.Up) - 1; n >= 0 && m.Up[n].To.IsZero() {
		m.Up = append([]upSpan{}, m.Up...) // the record before this change keeps its own
		m.Up[n].To, m.Sampled = now, now
	}
}

func (m *meter) drop(now time.Time) {
	if n := len(m.Disk) - 1; n >= 0 && m.Disk[n].To.IsZero() {
		m.Disk = append([]diskSpan{}, m.Disk...)
		m.Disk[n].To = now
	}
}

// running reports whether it is in a span.
func (m *meter) running() bool { return len(m.Up) > 0 && m.Up[len(m.Up)-1].To.IsZero() }

// overlap is how long both spans have in common.
func overlap(from, to, start, end time.Time) time.Duration {
	if start.Before(from) {
		start = from
	}
	if end.After(to) {
		end = to
	}
	return max(0, end.Sub(start))
}

// amount is what was used in some time.
type amount struct {
	uptime                        time.Duration
	cpuHours, memoryHours, diskHr float64
}

func (a *amount) add(b amount) {
	a.uptime += b.uptime
	a.cpuHours += b.cpuHours
	a.memoryHours += b.memoryHours
	a.diskHr += b.diskHr
}

// used is what falls between from and to, seen at now. CPU and memory are known up to the last sample.
func (m *meter) used(from, to, now time.Time) amount {
	var a amount
	for _, u := range m.Up {
		end, known := u.To, u.To
		if end.IsZero() {
			end, known = now, m.Sampled
		}
		a.uptime += overlap(from, to, u.From, end)
		hours := overlap(from, to, u.From, known).Hours()
		a.cpuHours += hours * float64(u.CPUs)
		a.memoryHours += hours * float64(u.MemoryMB) / 1024
	}
	for _, d := range m.Disk {
		end := d.To
		if end.IsZero() {
			end = now
		}
		a.diskHr += overlap(from, to, d.From, end).Hours() * float64(d.GB)
	}
	return a
}

// seconds is the uptime as it is told and billed.
func (a amount) seconds() int64 { return int64(math.Round(a.uptime.Seconds())) }
