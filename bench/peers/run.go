package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
)

// cell is one measurement: a peer, events in a request, connections.
type cell struct {
	peer        string
	batch       int
	connections int
}

// schedule returns the cells of one round. The peers take turns within each batch and number of connections, and another one is the first in
// each round, so that none always follows the same.
func schedule(peers []string, batches, connections []int, round int) (all []cell) {
	for _, batch := range batches {
		for _, n := range connections {
			for i := range peers {
				all = append(all, cell{peers[(i+round)%len(peers)], batch, n})
			}
		}
	}
	return all
}

// started is a peer that runs.
type started struct {
	*candidate
	peer
	dir    string
	disk   int64 // The bytes of its directory before the first event.
	acked  counts
	doubt  int64 // Events of unknown outcome.
	faults []string
}

// perform makes the whole run. An error means that there is no result.
func perform(ctx context.Context, o options, progress io.Writer) (result *result, err error) {
	say := func(format string, a ...any) { _, _ = fmt.Fprintf(progress, format+"\n", a...) }
	dir, err := os.MkdirTemp(o.parent, "peers-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // PostgreSQL runs as another user.
		return nil, err
	}
	result = newResult(&o)
	var all []*started
	defer func() {
		for _, s := range all {
			err = errors.Join(err, s.stop())
		}
	}()
	for _, name := range o.peers {
		say("starting %s", name)
		s, err := start(ctx, &o, name, dir)
		if s != nil {
			all = append(all, s)
		}
		if lacks, is := errors.AsType[*missing](err); is {
			say("SKIPPED: %s: %v", name, lacks)
			result.Skipped = append(result.Skipped, fmt.Sprintf("%s: %v", name, lacks))
			all = all[:len(all)-1]
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		result.Versions[name] = s.version()
	}
	if o.rival.url != "" {
		if err := result.compareAuctions(ctx, &o, all, say); err != nil {
			return nil, err
		}
	}
	if err := measureAll(ctx, &o, all, result, say); err != nil {
		return nil, err
	}
	for _, s := range all {
		if err := result.conclude(ctx, s); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	result.compare()
	return result, nil
}

// start starts a peer. What was started is returned with an error as well, so that it can be stopped.
func start(ctx context.Context, o *options, name, dir string) (*started, error) {
	c := peerNamed(name)
	s := &started{candidate: c, peer: c.make(o), dir: filepath.Join(dir, name)}
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		return nil, err
	}
	err := s.peer.start(ctx, s.dir)
	if err != nil {
		return s, err
	}
	s.disk, err = diskUsage(s.dir)
	return s, err
}

// measureAll makes all rounds.
func measureAll(ctx context.Context, o *options, all []*started, result *result, say func(string, ...any)) error {
	var running []string
	for _, s := range all {
		running = append(running, s.name)
	}
	for round := range o.rounds {
		for _, c := range schedule(running, o.batches, o.connections, round) {
			if err := ctx.Err(); err != nil {
				return err
			}
			s := all[slices.Index(running, c.peer)]
			closed, open, err := s.measure(ctx, o, c)
			if err != nil {
				return fmt.Errorf("%s: %w", c.peer, err)
			}
			result.record(c, closed, open)
			say("round %d: %-14s %2d in a request, %2d connections: %.0f events/s", round+1, c.peer, c.batch, c.connections, perSecond(closed))
		}
	}
	return nil
}

// Tokens have to be fetched for as many events as a closed loop may have. BOUND: no run here had more than half of these a second.
const (
	singlesMax = 60_000
	batchedMax = 200_000
)

// measure makes the closed and the open loop of a cell.
func (s *started) measure(ctx context.Context, o *options, c cell) (closed, open *sample, err error) {
	rate, most := o.rate, float64(singlesMax)
	if c.batch > 1 {
		rate, most = o.rate*o.batchFactor/float64(c.batch), batchedMax
	}
	events := int(most*o.closed.Seconds()+rate*float64(c.batch)*o.open.Seconds()) + 2*c.batch*c.connections
	if err := s.prepare(ctx, events, c.batch); err != nil {
		return nil, nil, err
	}
	m := &meter{batch: c.batch, cpu: func() (time.Duration, error) { return treeCPU(s.pids()) }}
	defer func() {
		for _, c := range m.clients {
			c.close()
		}
	}()
	for i := range c.connections {
		client, err := s.dial(i)
		if err != nil {
			return nil, nil, err
		}
		m.clients = append(m.clients, client)
	}
	plan, err := driver.ParsePlan(strconv.FormatFloat(rate, 'g', -1, 64), o.open)
	if err != nil {
		return nil, nil, err
	}
	first := m.warm()
	if open, err = m.run(ctx, plan); err != nil {
		return nil, nil, err
	}
	if closed, err = m.run(ctx, driver.ClosedPlan(o.closed)); err != nil {
		return nil, nil, err
	}
	for _, x := range []*sample{&first, open, closed} {
		s.tally(c, x)
	}
	return closed, open, nil
}

// tally counts what a sample says about the state of the peer.
func (s *started) tally(c cell, x *sample) {
	s.acked.Events += x.Events + x.Refused
	s.acked.Charged += x.Events
	s.doubt += x.Unknown
	if x.Failure != nil {
		s.faults = append(s.faults, fmt.Sprintf("%s: %d in a request, %d connections: %v", s.name, c.batch, c.connections, x.Failure))
	}
	if x.Refused > 0 {
		s.faults = append(s.faults, fmt.Sprintf("%s: %d in a request, %d connections: %d events were not charged", s.name, c.batch, c.connections, x.Refused))
	}
}

// compareCounts describes where a peer's own count differs from what it has acknowledged. An event without an answer may be counted or not.
func compareCounts(name string, got, acked counts, doubt int64) (faults []string) {
	differ := func(what string, got, acked int64) {
		if got < acked || got > acked+doubt {
			faults = append(faults, fmt.Sprintf("%s: it has %d %s, and acknowledged %d, with %d of unknown outcome", name, got, what, acked, doubt))
		}
	}
	differ("events", got.Events, acked.Events)
	differ("charges", got.Charged, acked.Charged)
	return faults
}

func perSecond(s *sample) float64 {
	if s.Elapsed == 0 {
		return 0
	}
	return float64(s.Events) / s.Elapsed.Seconds()
}
