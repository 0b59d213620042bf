package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
)

// sample is one measurement: a plan that was sent with a number of connections.
type sample struct {
	Events  int64 // That were acknowledged and charged.
	Refused int64 // That were acknowledged and not charged, which no event of the run should be.
	Unknown int64 // That had no answer, or one that does not say it.
	Elapsed time.Duration
	CPU     time.Duration // Of all processes of the peer.
	Latency driver.Histogram
	Lag     driver.Histogram // How late idle connections woke: the generator's own error.
	Failure error            // The first error of a connection, which stopped it.
}

// meter sends plans to one peer.
type meter struct {
	clients []client
	batch   int
	cpu     func() (time.Duration, error) // Reads the CPU time of the peer.
}

// warm sends one request on every connection, which is not measured, and repeats it: nothing may be charged again.
func (m *meter) warm() (s sample) {
	for _, c := range m.clients {
		if !s.send(c, m.batch) {
			continue
		}
		if err := c.repeat(); err != nil {
			s.Failure = errors.Join(s.Failure, err)
		}
	}
	return s
}

// run sends a plan. Latency counts from the instant at which a request was due, whether or not a connection was free.
func (m *meter) run(ctx context.Context, plan driver.Plan) (*sample, error) {
	before, err := m.cpu()
	if err != nil {
		return nil, err
	}
	start, parts := time.Now(), make([]sample, len(m.clients))
	var group sync.WaitGroup
	var next atomic.Int64
	for i, c := range m.clients {
		group.Go(func() { parts[i].work(ctx, c, plan, start, &next, m.batch) })
	}
	group.Wait()
	after, err := m.cpu()
	if err != nil {
		return nil, err
	}
	sum := &sample{CPU: after - before}
	for i := range parts {
		sum.add(&parts[i])
	}
	return sum, nil
}

// work sends what is due on one connection until the plan ends or the connection fails.
func (s *sample) work(ctx context.Context, c client, plan driver.Plan, start time.Time, next *atomic.Int64, batch int) {
	for ctx.Err() == nil {
		intended := time.Now()
		if plan.Open() {
			due, more := plan.Due(next.Add(1) - 1)
			if !more {
				return
			}
			intended = start.Add(due)
			if wait := time.Until(intended); wait > 0 {
				time.Sleep(wait)
				s.Lag.Record(time.Since(intended))
			}
		} else if intended.Sub(start) >= plan.Duration() {
			return
		}
		if !s.send(c, batch) {
			return
		}
		s.Latency.Record(time.Since(intended))
		s.Elapsed = time.Since(start)
	}
}

// send sends one request and counts its outcome. It returns false when the connection cannot be used any more.
func (s *sample) send(c client, batch int) bool {
	charged, err := c.charge(batch)
	switch {
	case errors.Is(err, errUsedUp):
		return false
	case err != nil:
		s.Unknown += int64(batch)
		s.Failure = errors.Join(s.Failure, err)
		return false
	}
	s.Events += int64(charged)
	s.Refused += int64(batch - charged)
	return true
}

// add adds another sample of the same time, or of another round.
func (s *sample) add(o *sample) {
	s.Events, s.Refused, s.Unknown = s.Events+o.Events, s.Refused+o.Refused, s.Unknown+o.Unknown
	s.Elapsed, s.CPU = max(s.Elapsed, o.Elapsed), s.CPU+o.CPU
	s.Latency.Merge(&o.Latency)
	s.Lag.Merge(&o.Lag)
	if s.Failure == nil {
		s.Failure = o.Failure
	}
}
