package cloud

import (
	"sync"
	"time"
)

// limiter counts the requests of each account in the present period.
type limiter struct {
	mu     sync.Mutex
	period time.Time
	counts map[string]int
}

// take counts a request. If it is one too many it returns how many seconds are left of the period, at least one.
func (l *limiter) take(s *Server, account string) int {
	if s.o.Rate <= 0 {
		return 0
	}
	now := s.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts == nil || now.Sub(l.period) >= s.o.RatePeriod {
		l.period, l.counts = now, map[string]int{}
	}
	l.counts[account]++
	if l.counts[account] <= s.o.Rate {
		return 0
	}
	left := l.period.Add(s.o.RatePeriod).Sub(now)
	return max(1, int((left+time.Second-1)/time.Second))
}
