package sinks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/node/sinks"
	"github.com/gavel-ads/gavel/node/sinks/sinkstest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
)

// busyShop is a shop with charges, reversals and credited items.
func busyShop(t *testing.T) *sinkstest.Shop {
	t.Helper()
	w := sinkstest.NewShop(t)
	w.Touch(event.Click, 5, 700) // Of the campaign that pays for purchases.
	w.Touch(event.Click, 1, 500)
	w.Pass(time.Second)
	w.Buy(5)
	w.Pass(10 * time.Second)
	w.GiveBack(5, 1)
	w.Traffic(60)
	w.Reverse(1, 200)
	return w
}

// TestMessagesAreTheJournal: every charge, reversal, credited item and return is sent once, with what the journal says, and nothing else is.
func TestMessagesAreTheJournal(t *testing.T) {
	w, b := busyShop(t), &memory{}
	s := w.Sink(w.Store, "c", b)
	if failed := w.Send(s); failed != 0 {
		t.Fatalf("%d rounds failed", failed)
	}
	types, repeats := w.Compare(b.received)
	if types["charge"] < 30 || types["reversal"] == 0 || types["conversion"] < 5 || types["return"] == 0 || repeats != 0 {
		t.Errorf("%v, %d repeats: the test needs more, and none repeated", types, repeats)
	}
	if x := s.Stats(); x.Sent != uint64(len(b.received)) || x.Lines != 0 || x.Lag != 0 || x.Failures != 0 {
		t.Errorf("%d messages were sent, the sink counts %+v", len(b.received), x)
	}
	w.Traffic(20)
	w.Send(s)
	if _, repeats := w.Compare(b.received); repeats != types["return"] { // Another follower does not know which returns were sent.
		t.Errorf("%d messages were repeated without a failure", repeats)
	}
}

// TestStopsLoseNothing stops a sink at every call of the broker: before its effect, after half of it and after all of it. What the next one
// sends again are the messages of that call, with the same ids and bytes.
func TestStopsLoseNothing(t *testing.T) {
	w := busyShop(t)
	const limit = 4
	run := func(cursor string, b *memory) (failed int) {
		s := w.Sink(w.Store, cursor, b)
		s.LimitBatch(limit)
		return w.Send(s)
	}
	all := &memory{}
	run("all", all)
	step := 1
	if testing.Short() {
		step = 7
	}
	for n := 1; n <= all.calls; n += step {
		for _, how := range stops {
			b := &memory{failAt: n, how: how}
			if failed := run(fmt.Sprintf("stop-%d-%d", n, len(how)), b); failed != 1 {
				t.Fatalf("call %d: %d rounds failed", n, failed)
			}
			if _, repeats := w.Compare(b.received); repeats > limit*sinks.RoundBatches {
				t.Errorf("%d messages were repeated", repeats)
			}
			if t.Failed() {
				t.Fatalf("the sink stopped at call %d of the broker, %s", n, how)
			}
		}
	}
	if all.calls < 15 {
		t.Errorf("%d calls of the broker: the test needs more", all.calls)
	}
}

// TestCursorsThatAreNotStoredLoseNothing lets every write of a cursor fail, before and after its effect.
func TestCursorsThatAreNotStoredLoseNothing(t *testing.T) {
	w := busyShop(t)
	run := func(cursor string, b *memory, g *writes) (failed int) {
		g.groups = w.Store.Groups
		s := w.Sink(&store.Store{Groups: g, Now: w.Now, View: w.Store.View}, cursor, b)
		s.LimitBatch(2)
		return w.Send(s)
	}
	count := &writes{}
	run("all", &memory{}, count)
	step := 1
	if testing.Short() {
		step = 25
	}
	for n := 1; n <= count.calls; n += step {
		for _, how := range []stop{before, after} {
			b := &memory{}
			if failed := run(fmt.Sprintf("cursor-%d-%d", n, len(how)), b, &writes{failAt: n, how: how}); failed != 1 {
				t.Fatalf("write %d: %d rounds failed", n, failed)
			}
			w.Compare(b.received)
			if t.Failed() {
				t.Fatalf("write %d of a cursor failed %s", n, how)
			}
		}
	}
	if count.calls < 10 {
		t.Errorf("%d writes: the test needs more", count.calls)
	}
}

// TestAnotherNodeGoesOn: leadership moves at random between two nodes, and for some rounds both believe to lead, while events come in. The
// consumer misses nothing.
func TestAnotherNodeGoesOn(t *testing.T) {
	w, b := sinkstest.NewShop(t), &memory{}
	random := rand.New(rand.NewPCG(7, 8))
	leads := [2]bool{true, false}
	var nodes [2][]*sinks.Follower
	for i := range nodes {
		s := w.Sink(w.Store, "c", b)
		s.Leads = func(ids.Group) bool { return leads[i] }
		s.LimitBatch(2)
		for _, g := range w.Data() {
			nodes[i] = append(nodes[i], s.Follow(g))
		}
	}
	for n := range 120 {
		if n < 80 {
			w.Traffic(1)
		}
		leads = [][2]bool{{true, false}, {false, true}, {true, true}, {false, false}}[random.IntN(4)]
		if n > 110 {
			leads = [2]bool{true, false}
		}
		for _, i := range random.Perm(2) {
			for _, f := range nodes[i] {
				if _, err := f.Round(t.Context()); err != nil && !errors.Is(err, store.ErrChanged) {
					t.Fatal(err)
				}
			}
		}
	}
	for _, f := range nodes[0] {
		for more := true; more; {
			var err error
			if more, err = f.Round(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if types, repeats := w.Compare(b.received); types["charge"] < 20 || repeats == 0 {
		t.Errorf("%v, %d repeats: the test needs more of both", types, repeats)
	}
}

// TestABrokerMayBeAway: while it is away the shop goes on, the sink asks it again after at most a minute, and says how far it is behind; when
// it is back, everything is sent.
func TestABrokerMayBeAway(t *testing.T) {
	w, b := sinkstest.NewShop(t), &memory{}
	charged := map[ids.Group]bool{}
	for of := range 5 { // The sixth campaign is not charged for clicks.
		w.Touch(event.Click, of, 100)
		charged[w.GroupOf(of)] = true
	}
	synctest.Test(t, func(t *testing.T) {
		s := w.Sink(w.Store, "c", b)
		b.away = true
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.Run(ctx)
		}()
		time.Sleep(10 * time.Minute)
		w.Traffic(20)
		calls, received := b.counts()
		groups := len(charged)
		// Pauses of 1, 2, 4 … 60 s, each shortened by up to a half.
		if calls < 15*groups || calls > 27*groups || received != 0 {
			t.Errorf("%d groups called a broker that is away %d times in ten minutes, and it received %d messages", groups, calls, received)
		}
		time.Sleep(time.Minute + time.Second)
		if x := s.Stats(); x.Failures < uint64(calls) || x.Lines < 15 || x.Lag < 190*time.Second {
			t.Errorf("a sink that is behind by 25 events in 200 s counts %+v", x)
		}
		b.setAway(false)
		time.Sleep(time.Minute + time.Second)
		if x := s.Stats(); x.Lines != 0 || x.Lag != 0 {
			t.Errorf("the broker is back, and the sink counts %+v", x)
		}
		cancel()
		<-ended
	})
	if _, repeats := w.Compare(b.received); repeats != 0 {
		t.Errorf("%d messages were repeated, although the broker stored none of those that failed", repeats)
	}
}

// TestChargesArriveWithinASecond: a sink that has nothing to send asks once a second.
func TestChargesArriveWithinASecond(t *testing.T) {
	w, b := sinkstest.NewShop(t), &memory{}
	synctest.Test(t, func(t *testing.T) {
		s := w.Sink(w.Store, "c", b)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.Run(ctx)
		}()
		time.Sleep(10*time.Second + time.Second/2)
		w.Touch(event.Click, 1, 500)
		time.Sleep(time.Second)
		if _, received := b.counts(); received != 1 {
			t.Errorf("%d messages were received a second after a charge", received)
		}
		cancel()
		<-ended
	})
}

// TestNothingNewCostsNoWrite: rounds without anything to send write no cursor.
func TestNothingNewCostsNoWrite(t *testing.T) {
	w := busyShop(t)
	s := w.Sink(w.Store, "c", &memory{})
	w.Send(s)
	var all []*sinks.Follower
	for _, g := range w.Data() {
		f := s.Follow(g)
		if _, err := f.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	w.Tick(time.Second)
	written := w.Written()
	for range 10 {
		for _, f := range all {
			if more, err := f.Round(t.Context()); more || err != nil {
				t.Fatal(more, err)
			}
		}
	}
	if n := w.Written() - written; n != 0 {
		t.Errorf("10 rounds with nothing to send wrote %d records", n)
	}
}

// TestLatest: a sink that begins with the latest gets nothing of before, and everything of after its first round, also when another node
// sends the first message.
func TestLatest(t *testing.T) {
	w, b := busyShop(t), &memory{}
	first, second := w.Sink(w.Store, "c", b), w.Sink(w.Store, "c", b)
	first.Latest, second.Latest = true, true
	w.Send(first)
	if len(b.received) != 0 {
		t.Errorf("%d messages are of before", len(b.received))
	}
	w.Touch(event.Click, 2, 300)
	w.Pass(time.Second)
	w.Buy(2)
	w.Pass(10 * time.Second)
	w.Send(second)
	types := map[string]int{}
	for _, r := range b.received {
		var m struct{ Type string }
		if err := json.Unmarshal(r.Body, &m); err != nil {
			t.Fatal(err)
		}
		types[m.Type]++
	}
	if types["charge"] != 1 || types["conversion"] != 1 {
		t.Errorf("received: %v", types)
	}
}

// TestReturnsFollowTheirConversions: what comes back later is sent later, once for each number of pieces, and again by another leader.
// A sink that began after the purchase gets nothing of it.
func TestReturnsFollowTheirConversions(t *testing.T) {
	w, b, late := sinkstest.NewShop(t), &memory{}, &memory{}
	w.Touch(event.Click, 1, 500)
	w.Pass(time.Second)
	w.Buy(1)
	w.Pass(10 * time.Second)
	s, latest := w.Sink(w.Store, "c", b), w.Sink(w.Store, "latest", late)
	latest.Latest = true
	w.Send(latest)
	f := s.Follow(w.GroupOf(1))
	for pieces := range int64(2) {
		w.Pass(10 * time.Second)
		for more := true; more; {
			var err error
			if more, err = f.Round(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if types, repeats := w.Compare(b.received); types["conversion"] != 1 || types["return"] != int(pieces) || repeats != 0 {
			t.Errorf("after %d returns: %v, %d repeats", pieces, types, repeats)
		}
		w.GiveBack(1, 1)
	}
	w.Send(s) // By a follower that knows nothing of what was sent.
	if types, repeats := w.Compare(b.received); types["return"] != 2 || repeats != 0 {
		t.Errorf("at last: %v, %d repeats", types, repeats)
	}
	w.Send(s)
	if types, repeats := w.Compare(b.received); types["return"] != 2 || repeats != 1 {
		t.Errorf("by another leader: %v, %d repeats", types, repeats)
	}
	if w.Send(latest); len(late.received) != 0 {
		t.Errorf("%d messages to a sink that began after the purchase", len(late.received))
	}
}

// TestConversionsWaitForEarlierPurchases: an item is not sent while a purchase that was opened before it is not credited, because the cursor
// would pass over that one.
func TestConversionsWaitForEarlierPurchases(t *testing.T) {
	w, b := sinkstest.NewShop(t), &memory{}
	w.Touch(event.Click, 1, 500)
	w.Pass(time.Second)
	earlier := w.Buy(1)
	w.Tick(time.Millisecond)
	later := w.Buy(1)
	if earlier == later {
		t.Fatal("the test needs two groups")
	}
	w.Tick(time.Minute)
	s := w.Sink(w.Store, "c", b)
	w.Credit(later)
	w.Send(s)
	if len(b.received) != 1 {
		t.Errorf("%d messages, want only the charge: a purchase that was opened before is not credited", len(b.received))
	}
	w.Credit(earlier)
	w.Send(s)
	if types, repeats := w.Compare(b.received); types["conversion"] != 2 || repeats != 0 {
		t.Errorf("%v, %d repeats", types, repeats)
	}
}

// TestOldItemsAreSent: a sink that begins late finds the items of all days that are kept.
func TestOldItemsAreSent(t *testing.T) {
	w, b := sinkstest.NewShop(t), &memory{}
	for range 3 {
		w.Touch(event.Click, 1, 500)
		w.Pass(time.Second)
		w.Buy(1)
		w.Pass(36 * time.Hour)
	}
	w.Send(w.Sink(w.Store, "c", b))
	if types, _ := w.Compare(b.received); types["conversion"] != 3 {
		t.Errorf("received: %v", types)
	}
}

// TestIDsDifferAfterARestore: a line that is written after a restore may have the number of one that was sent before, and has another id. Two
// shops are two histories of one group.
func TestIDsDifferAfterARestore(t *testing.T) {
	bodies, lines := map[string]string{}, map[int64]int{}
	for _, restored := range []bool{false, true} {
		w, b := sinkstest.NewShop(t), &memory{}
		w.Touch(event.Click, 1, 100)
		if restored {
			w.Reverse(1, 1)
		}
		w.Touch(event.Click, 1, 300)
		w.Send(w.Sink(w.Store, "c", b))
		for _, r := range b.received {
			var m struct{ Line int64 }
			if err := json.Unmarshal(r.Body, &m); err != nil {
				t.Fatal(err)
			}
			lines[m.Line]++
			if other, found := bodies[r.ID]; found && other != string(r.Body) {
				t.Errorf("%s is the id of two lines:\n%s\n%s", r.ID, other, r.Body)
			}
			bodies[r.ID] = string(r.Body)
		}
	}
	if len(bodies) != 5 || len(lines) != 3 {
		t.Errorf("%d messages of %d lines, want two and three, of which two lines have the same numbers", len(bodies), len(lines))
	}
}

// TestBatchesAreBounded: a batch is sent when its bodies are large, before it has as many messages as it may have.
func TestBatchesAreBounded(t *testing.T) {
	w, b := sinkstest.NewShop(t), &memory{}
	f := w.Sink(w.Store, "c", b).Follow(w.Data()[0])
	for n := range 5 {
		if err := f.Add(t.Context(), sinks.Message{ID: fmt.Sprint(n), Body: make([]byte, sinks.BatchBytesMax/2)}); err != nil {
			t.Fatal(err)
		}
	}
	if calls, received := b.counts(); calls != 2 || received != 4 {
		t.Errorf("%d messages in %d batches", received, calls)
	}
}

// TestBackOff: pauses double from a second to a minute, and are shortened by up to a half.
func TestBackOff(t *testing.T) {
	for failures, full := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 6: 32 * time.Second, 7: time.Minute, 1000: time.Minute} {
		if got := sinks.BackOff(failures, 0); got != full {
			t.Errorf("after %d failures: %s, want %s", failures, got, full)
		}
		if got := sinks.BackOff(failures, 0.999999); got < full/2 || got > full*51/100 {
			t.Errorf("after %d failures with the most jitter: %s, want about half of %s", failures, got, full)
		}
	}
}
