//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
	"github.com/gavel-ads/gavel/loadtest/scenarios"
)

// tally is what one worker, or all of them together, saw. There is one histogram for each window, of auctions only.
type tally struct {
	latency  []driver.Histogram
	lag      driver.Histogram // How late idle workers woke: the generator's own error.
	auctions map[int]int64    // Answers to auctions by status; 0: there was no answer.
	events   map[int]int64    // Answers to bodies of events by status.
	unsent   int64            // Bodies of events for which no connection was free; see eventBacklog.
	acked    driver.Acknowledged
	others   int64
	unknown  []scenarios.Request // Copies of bodies that are repeated until they are acknowledged.
	refused  []string
	checked  int64
}

func newTally(windows int) *tally {
	return &tally{latency: make([]driver.Histogram, windows), auctions: map[int]int64{}, events: map[int]int64{}}
}

// storefront sends an open-loop plan for the whole run: a request is due at its time whether or not those before it were answered, and its
// latency counts from that time. Auctions and events have separate connections, as in a shop, where no shopper waits until an event is
// reported: an event waits for a commit, and on shared connections the latency of auctions would be that of commits.
type storefront struct {
	plan     driver.Plan
	windows  []window
	scenario scenarios.Scenario
	dial     func() (scenarios.Poster, error)
	start    time.Time

	next, sent, failed atomic.Int64
	events             chan scenarios.Request // Bodies of events that are due and not sent yet.
}

const (
	reporters    = 4      // How many connections send events for each one that sends auctions.
	eventBacklog = 50_000 // BOUND: bodies, of some 500 bytes, that wait for a connection.
)

// run sends the plan with this many connections for auctions, and reporters times as many for events.
func (s *storefront) run(ctx context.Context, workers int) (*tally, error) {
	s.events = make(chan scenarios.Request, eventBacklog)
	senders := make([]func(scenarios.Poster, *tally), 0, workers*(1+reporters))
	var auctions sync.WaitGroup
	auctions.Add(workers)
	for i := range workers {
		senders = append(senders, func(c scenarios.Poster, t *tally) { s.work(ctx, s.scenario.Worker(i), c, t) })
	}
	for range workers * reporters {
		senders = append(senders, s.sendEvents)
	}
	all := make([]*tally, len(senders))
	failures := make([]error, len(senders))
	var group sync.WaitGroup
	for i, send := range senders {
		all[i] = newTally(len(s.windows))
		group.Go(func() {
			if i < workers {
				defer auctions.Done()
			}
			c, err := s.dial()
			if err != nil {
				failures[i] = err
				return
			}
			defer c.Close()
			send(c, all[i])
		})
	}
	auctions.Wait()
	close(s.events)
	group.Wait()
	total := newTally(len(s.windows))
	for _, t := range all {
		total.add(t)
	}
	return total, errors.Join(failures...)
}

// work sends the auctions of one worker when they are due, and passes its events on.
func (s *storefront) work(ctx context.Context, w scenarios.Worker, c scenarios.Poster, t *tally) {
	var r scenarios.Request
	for ctx.Err() == nil {
		due, ok := s.plan.Due(s.next.Add(1) - 1)
		if !ok {
			return
		}
		intended := s.start.Add(due)
		if wait := time.Until(intended); wait > 0 {
			time.Sleep(wait)
			t.lag.Record(time.Since(intended))
		} else if late := -wait; late > answerMax {
			s.giveUp(t, due, late)
			continue
		}
		if !w.Next(&r) {
			return
		}
		if r.Path == scenarios.EventsPath {
			s.enqueueEvents(&r, t)
			continue
		}
		status, answer := s.post(c, &r, t)
		s.record(t, due, time.Since(intended))
		if status/100 == 2 {
			w.Answer(&r, answer)
		}
	}
}

// post sends one request and counts its outcome; status 0 means that there was no answer.
func (s *storefront) post(c scenarios.Poster, r *scenarios.Request, t *tally) (status int, answer []byte) {
	status, answer, err := c.Post(r.Path, r.Body)
	if err != nil {
		status = 0
	}
	s.sent.Add(1)
	if status/100 != 2 {
		s.failed.Add(1)
	}
	t.recordOutcome(r, status, answer)
	return status, answer
}

// enqueueEvents passes a body of events to the connections for events. A body for which there is no room is never sent and counted as unsent.
func (s *storefront) enqueueEvents(r *scenarios.Request, t *tally) {
	kept := *r
	kept.Body = append([]byte(nil), r.Body...)
	select {
	case s.events <- kept:
	default:
		t.unsent++
	}
}

// sendEvents sends bodies of events until all are sent.
func (s *storefront) sendEvents(c scenarios.Poster, t *tally) {
	for r := range s.events {
		s.post(c, &r, t)
	}
}

// record counts the latency of an auction in the window in which it was due.
func (s *storefront) record(t *tally, due, took time.Duration) {
	if at := windowAt(s.windows, due); due >= s.windows[at].Counted {
		t.latency[at].Record(took)
	}
}

// giveUp counts an auction for which no connection was free within answerMax as one without an answer. Otherwise the backlog of a window with
// attackers would be sent in the windows after it and count as their latency.
func (s *storefront) giveUp(t *tally, due, late time.Duration) {
	s.sent.Add(1)
	s.failed.Add(1)
	t.auctions[0]++
	s.record(t, due, late)
}

// checkEvery is how often an answer is decoded and checked in full.
const checkEvery = 512

// recordOutcome counts the outcome of a request. Only 200 and 201 acknowledge, a 4xx applied nothing, everything else is unknown, and a body of
// events of unknown outcome is kept.
func (t *tally) recordOutcome(r *scenarios.Request, status int, answer []byte) {
	by := t.events
	if r.Path == scenarios.AuctionsPath {
		by = t.auctions
	}
	by[status]++
	switch {
	case status == http.StatusOK || status == http.StatusCreated:
		t.acknowledge(r)
		if by[status]%checkEvery == 1 {
			t.check(r, answer)
		}
	case status/100 == 4:
		t.refuse(fmt.Sprintf("%s was answered %d %.200s", r.Path, status, answer))
	case r.Path == scenarios.EventsPath:
		kept := *r
		kept.Body = append([]byte(nil), r.Body...)
		t.unknown = append(t.unknown, kept)
	}
}

func (t *tally) acknowledge(r *scenarios.Request) {
	t.acked.Impressions += int64(r.Impressions)
	t.acked.Clicks += int64(r.Clicks)
	t.others += int64(r.Others)
}

func (t *tally) check(r *scenarios.Request, answer []byte) {
	t.checked++
	var err error
	if r.Path == scenarios.AuctionsPath {
		_, err = driver.CheckAuctions(r.Body, answer)
	} else {
		err = driver.CheckEvents(answer)
	}
	if err != nil {
		t.refuse(err.Error())
	}
}

// refusedMax bounds how many wrong answers are described.
const refusedMax = 5

func (t *tally) refuse(what string) {
	if len(t.refused) < refusedMax {
		t.refused = append(t.refused, what)
	}
}

func (t *tally) add(o *tally) {
	for i := range o.latency {
		t.latency[i].Merge(&o.latency[i])
	}
	t.lag.Merge(&o.lag)
	for status, n := range maps.All(o.auctions) {
		t.auctions[status] += n
	}
	for status, n := range maps.All(o.events) {
		t.events[status] += n
	}
	t.acked.Impressions += o.acked.Impressions
	t.acked.Clicks += o.acked.Clicks
	t.others += o.others
	t.unsent += o.unsent
	t.checked += o.checked
	t.unknown = append(t.unknown, o.unknown...)
	for _, what := range o.refused {
		t.refuse(what)
	}
}

// resolveMax bounds how long all unknown outcomes together are repeated.
const resolveMax = 2 * time.Minute

// resolveUnknown repeats every body of unknown outcome, unchanged, until it is acknowledged. It returns how many were.
func (t *tally) resolveUnknown(ctx context.Context, dial func() (scenarios.Poster, error)) (int, error) {
	c, err := dial()
	if err != nil {
		return 0, err
	}
	defer c.Close()
	deadline := time.Now().Add(resolveMax)
	for i := range t.unknown {
		for {
			status, answer, err := c.Post(t.unknown[i].Path, t.unknown[i].Body)
			if err == nil && status == http.StatusOK {
				t.acknowledge(&t.unknown[i])
				break
			}
			if err == nil && status/100 == 4 {
				return i, fmt.Errorf("a repeated body was refused with %d %.200s", status, answer)
			}
			if ctx.Err() != nil || time.Now().After(deadline) {
				return i, errors.Join(fmt.Errorf("%d bodies of events are still of unknown outcome; the last status was %d", len(t.unknown)-i, status), err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	return len(t.unknown), nil
}

// peakOf measures how many requests a second the node answers in a closed loop.
func peakOf(ctx context.Context, s scenarios.Scenario, dial func() (scenarios.Poster, error), workers int, length time.Duration) (float64, error) {
	var answered atomic.Int64
	failures := make([]error, workers)
	begin := time.Now()
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() {
			c, err := dial()
			if err != nil {
				failures[i] = err
				return
			}
			defer c.Close()
			var r scenarios.Request
			for w := s.Worker(i); ctx.Err() == nil && time.Since(begin) < length && w.Next(&r); {
				status, answer, err := c.Post(r.Path, r.Body)
				if err != nil || status/100 != 2 {
					failures[i] = errors.Join(fmt.Errorf("%s was answered %d %.200s", r.Path, status, answer), err)
					return
				}
				w.Answer(&r, answer)
				answered.Add(1)
			}
		})
	}
	group.Wait()
	return float64(answered.Load()) / time.Since(begin).Seconds(), errors.Join(failures...)
}

// dialer returns a function that opens connections to the auction listener.
func dialer(n *node) func() (scenarios.Poster, error) {
	return func() (scenarios.Poster, error) { return driver.NewConn("http://"+n.auction, n.auctionKey, answerMax) }
}

// answerMax is when a request of the storefront counts as not answered.
const answerMax = 10 * time.Second
