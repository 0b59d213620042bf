package limits

import (
	"fmt"
	"slices"
	"time"
)

// grant gives free permits to waiting requests, one to each marketplace in rotation. LOCKS: mu is held.
func (s *Scheduler) grant() {
	for i := 0; i < len(s.waiting) && s.running < s.config.PerNode; {
		marketplace := s.waiting[i]
		m := s.marketplaces[marketplace]
		if m.running >= s.config.PerMarketplace {
			i++
			continue
		}
		r := m.queue[0]
		s.dequeue(m, marketplace, 0)
		if len(m.queue) > 0 { // The marketplace moves to the end of the rotation.
			at := slices.Index(s.waiting, marketplace)
			s.waiting = append(slices.Delete(s.waiting, at, at+1), marketplace)
		}
		if refused := s.overdrawn(m); refused != nil {
			r.refused = s.refuse(r, refused)
		} else {
			m.running++
			s.running++
			s.stats[r.kind].Running++
		}
		close(r.decided)
	}
}

// dequeue removes the request at position at from the queue of a marketplace. LOCKS: mu is held.
func (s *Scheduler) dequeue(m *usage, marketplace uint16, at int) {
	s.stats[m.queue[at].kind].Waiting--
	m.queue = slices.Delete(m.queue, at, at+1)
	if len(m.queue) == 0 {
		s.waiting = slices.DeleteFunc(s.waiting, func(other uint16) bool { return other == marketplace })
	}
}

// withdraw removes a request that no longer waits, and refuses it if why is not nil. It returns false if the request was
// decided meanwhile.
func (s *Scheduler) withdraw(m *usage, marketplace uint16, r *request, why *WorkRefused) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.Index(m.queue, r)
	if at < 0 {
		return false
	}
	s.dequeue(m, marketplace, at)
	if why != nil {
		r.refused = s.refuse(r, why)
	}
	return true
}

// timedOut returns the refusal of a request that got no permit in time.
func (s *Scheduler) timedOut(m *usage) *WorkRefused {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.running >= s.config.PerMarketplace {
		return &WorkRefused{Own: true, After: s.config.Wait, Why: fmt.Sprintf(
			"%d reports, explanations and forecasts of this marketplace are running, which is the limit", s.config.PerMarketplace)}
	}
	return &WorkRefused{After: s.config.Wait, Why: "this node is busy with reports, explanations and forecasts"}
}

// overdrawn returns a refusal if the budget of a marketplace is used up, or else nil. LOCKS: mu is held.
func (s *Scheduler) overdrawn(m *usage) *WorkRefused {
	s.refill(m)
	over := m.spent - s.config.Budget
	if over < 0 {
		return nil
	}
	// A tenth of the budget must be refilled first. Otherwise a new request would use up the first refilled millisecond.
	after := time.Duration(float64(over+s.config.Budget/10) * float64(s.config.Window) / float64(s.config.Budget))
	return &WorkRefused{Own: true, After: after, Why: fmt.Sprintf(
		"the CPU time of this marketplace for reports, explanations and forecasts, %s in %s, is used up", s.config.Budget, s.config.Window)}
}

// refill reduces the spent CPU time by what has been refilled since the last call. LOCKS: mu is held.
func (s *Scheduler) refill(m *usage) {
	now := s.config.Now()
	back := float64(now.Sub(m.at)) * float64(s.config.Budget) / float64(s.config.Window)
	m.spent = max(0, m.spent-time.Duration(back))
	m.at = now
}

// refuse counts a refusal. LOCKS: mu is held.
func (s *Scheduler) refuse(r *request, why *WorkRefused) *WorkRefused {
	s.stats[r.kind].Refused++
	return why
}

// spend charges a marketplace for a slice.
func (s *Scheduler) spend(m *usage, kind Kind, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refill(m)
	m.spent += took
	s.stats[kind].CPU += took
}

// release returns a permit and gives free permits to waiting requests.
func (s *Scheduler) release(m *usage, kind Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.running--
	s.running--
	s.stats[kind].Running--
	s.grant()
}
