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

// take counts a request and returns how many more may come. If it is one too many, wait is how many seconds are left of the period, at least
// one.
func (l *limiter) take(s *Server, account string) (remaining, wait int) {
	now := s.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts == nil || now.Sub(l.period) >= s.o.RatePeriod {
		l.period, l.counts = now, map[string]int{}
	}
	l.counts[account]++
	if n := l.counts[account]; n <= s.o.Rate {
		return s.o.Rate - n, 0
	}
	left := l.period.Add(s.o.RatePeriod).Sub(now)
	return 0, max(1, int((left+time.Second-1)/time.Second))
}
