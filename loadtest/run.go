package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
	"github.com/gavel-ads/gavel/loadtest/scenarios"
)

// checkEvery is how often an answer is decoded in full and checked. Checking all of them would make the generator the
// bottleneck; checking none would measure the speed of wrong answers.
const checkEvery = 512

// tally is what one worker saw; tallies are added up after the run. INVARIANT: every request sent is counted in exactly
// one of acknowledged, refused and unknown.
type tally struct {
	latency  driver.Histogram // From the intended send time to the answer, or to giving up; leaving those out would look faster.
	lag      driver.Histogram // From the intended to the real send time, of requests that an idle worker waited for.
	sent     int64
	status   map[int]int64 // Answers by status; 0: there was no answer.
	acked    driver.Acknowledged
	others   int64 // Page views and purchases acknowledged.
	checked  int64
	wrong    []string
	unknown  []scenarios.Request // Copies of event bodies that are repeated until they are acknowledged.
	pages    []pageWinners
	target   int // The listener of its connection.
	finished time.Time
	starved  bool // The worker ran out of tokens before the plan ended.
}

// runner sends one plan with many workers.
type runner struct {
	plan     driver.Plan
	scenario scenarios.Scenario
	dial     func() (scenarios.Poster, error)
	timeline *timeline
	beside   []func(ctx context.Context, start time.Time) // What runs until the last worker has ended.
	next     atomic.Int64                                 // The number of the next request of an open-loop plan.
	acked    atomic.Int64                                 // Clicks acknowledged to any worker.
}

// run sends the whole plan and returns the workers' tallies and the start.
func (r *runner) run(ctx context.Context, workers int) (start time.Time, all []*tally, err error) {
	connections := make([]scenarios.Poster, workers)
	for i := range connections {
		if connections[i], err = r.dial(); err != nil {
			return start, nil, err
		}
		defer connections[i].Close()
	}
	all = make([]*tally, workers)
	start = time.Now()
	var group, beside sync.WaitGroup
	sending, ended := context.WithCancel(ctx)
	defer ended()
	for _, f := range r.beside {
		beside.Go(func() { f(sending, start) })
	}
	for i := range workers {
		all[i] = &tally{status: map[int]int64{}, target: targetOf(connections[i])}
		group.Go(func() { r.work(ctx, start, r.scenario.Worker(i), connections[i], all[i]) })
	}
	group.Wait()
	ended()
	beside.Wait()
	return start, all, nil
}

func (r *runner) work(ctx context.Context, start time.Time, w scenarios.Worker, c scenarios.Poster, t *tally) {
	defer func() { t.finished = time.Now() }()
	recorded := &recorder{to: r.timeline}
	defer recorded.flush()
	var req scenarios.Request
	for ctx.Err() == nil {
		intended, ok := r.await(start, t)
		if !ok {
			return
		}
		if !w.Next(&req) {
			t.starved = true
			return
		}
		status, answer, err := c.Post(req.Path, req.Body)
		latency := time.Since(intended)
		t.latency.Record(latency)
		recorded.record(kindOf(req.Path), intended.Sub(start), latency)
		before := t.acked.Clicks
		t.recordOutcome(&req, status, answer, err)
		r.acked.Add(t.acked.Clicks - before)
		if err == nil && status/100 == 2 {
			w.Answer(&req, answer)
			t.countWinners(&req, answer)
		}
	}
}

// await waits until the worker's next request is due and returns that instant; false at the end of the plan. In a closed
// loop a request is due at once.
func (r *runner) await(start time.Time, t *tally) (time.Time, bool) {
	if !r.plan.Open() {
		now := time.Now()
		return now, now.Sub(start) < r.plan.Duration()
	}
	due, ok := r.plan.Due(r.next.Add(1) - 1)
	if !ok {
		return time.Time{}, false
	}
	intended := start.Add(due)
	if wait := time.Until(intended); wait > 0 {
		time.Sleep(wait)
		t.lag.Record(time.Since(intended))
	}
	return intended, true
}

// recordOutcome counts the outcome of one request. Only 200 and 201 acknowledge. A 4xx applied nothing. Everything else, a missing answer
// as well as a 5xx, is unknown: neither a failure nor a success, so the body is kept and repeated.
func (t *tally) recordOutcome(req *scenarios.Request, status int, answer []byte, err error) {
	t.sent++
	if err != nil {
		status = 0
	}
	t.status[status]++
	switch {
	case status == 200 || status == 201:
		t.acknowledge(req)
		if t.sent%checkEvery == 1 {
			t.check(req, answer)
		}
	case status >= 400 && status < 500:
		if len(t.wrong) < wrongMax {
			t.wrong = append(t.wrong, "refused: "+string(answer[:min(len(answer), 300)]))
		}
	case req.Path == scenarios.EventsPath:
		kept := *req
		kept.Body = append([]byte(nil), req.Body...)
		t.unknown = append(t.unknown, kept)
	}
}

// wrongMax bounds how many wrong answers a worker describes.
const wrongMax = 3

func (t *tally) acknowledge(req *scenarios.Request) {
	t.acked.Impressions += int64(req.Impressions)
	t.acked.Clicks += int64(req.Clicks)
	t.others += int64(req.Others)
}

func (t *tally) check(req *scenarios.Request, answer []byte) {
	t.checked++
	var err error
	if scenarios.IsAuction(req.Path) {
		_, err = driver.CheckAuctions(req.Body, answer)
	} else {
		err = driver.CheckEvents(answer)
	}
	if err != nil && len(t.wrong) < wrongMax {
		t.wrong = append(t.wrong, err.Error())
	}
}

// add adds the tally of another worker.
func (t *tally) add(o *tally) {
	t.latency.Merge(&o.latency)
	t.lag.Merge(&o.lag)
	t.sent += o.sent
	for status, n := range o.status {
		t.status[status] += n
	}
	t.acked.Impressions += o.acked.Impressions
	t.acked.Clicks += o.acked.Clicks
	t.others += o.others
	t.checked += o.checked
	t.wrong = append(t.wrong, o.wrong...)
	t.unknown = append(t.unknown, o.unknown...)
	for _, n := range o.pages {
		t.addWinners(n)
	}
	if o.finished.After(t.finished) {
		t.finished = o.finished
	}
	t.starved = t.starved || o.starved
}
