package leadership

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// A follower that did not answer a transfer is not tried again for a while; one that refused, or a new term, may be
// tried at once.
func TestTransfersRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x transferGuard
		late := errors.New("leadership transfer timeout")
		for i, step := range []struct {
			term    uint64
			to      raft.ServerID
			wait    time.Duration
			pending bool
			err     error
			called  bool
		}{
			{term: 2, to: "a", err: late},
			{term: 2, to: "a", pending: true},
			{term: 2, to: "b", err: errors.New("it does not take it"), called: true},
			{term: 2, to: "b", err: raft.ErrLeadershipTransferInProgress},
			{term: 2, to: "b", err: raft.ErrNotLeader},
			{term: 2, to: "b", err: late},
			{term: 2, to: "b", pending: true, wait: transferRetryAfter / 2},
			{term: 2, to: "b", err: late, wait: transferRetryAfter / 2},
			{term: 3, to: "b", err: late},
		} {
			time.Sleep(step.wait)
			if err := x.begin(step.term, step.to); (err != nil) != step.pending {
				t.Errorf("step %d: %v", i, err)
			}
			if !step.pending {
				x.end(step.term, step.to, step.err, step.called)
			}
		}
	})
}

// A leader that answers for long with nothing but refusals because of a transfer is stuck. Refusals of two transfers
// are not counted as those of one.
func TestTransferThatNeverEndsIsNoticed(t *testing.T) {
	goesOn := raft.ErrLeadershipTransferInProgress
	type step struct {
		times int
		wait  time.Duration // Before each refusal.
		err   error
		stuck bool // The result of the last one.
	}
	for name, steps := range map[string][]step{
		"stuck":            {{1, 0, goesOn, false}, {10, time.Second, goesOn, false}, {1, time.Second, goesOn, true}},
		"asked seldom":     {{1, 0, goesOn, false}, {5, refusalResetAfter, goesOn, false}, {1, refusalResetAfter, goesOn, true}},
		"answered between": {{8, time.Second, goesOn, false}, {1, time.Second, nil, false}, {8, time.Second, goesOn, false}},
		"lost between":     {{8, time.Second, goesOn, false}, {1, time.Second, raft.ErrLeadershipLost, false}, {8, time.Second, goesOn, false}},
		"long ago":         {{8, time.Second, goesOn, false}, {1, time.Minute, goesOn, false}, {8, time.Second, goesOn, false}},
		"little ago":       {{8, time.Second, goesOn, false}, {1, refusalResetAfter + 1, goesOn, false}, {8, time.Second, goesOn, false}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var x transferGuard
			for i, s := range steps {
				for n := range s.times {
					time.Sleep(s.wait)
					if stuck := x.noteAnswer(s.err); stuck != (s.stuck && n == s.times-1) {
						t.Errorf("%s, step %d: %v", name, i, stuck)
					}
				}
			}
		})
	}
}

// Refusals in a leadership that is lost do not count in the next one.
func TestLostLeadershipForgetsRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x transferGuard
		for i := range 24 {
			if i%8 == 0 {
				x.leadershipLost()
			}
			time.Sleep(refusalResetAfter - 1)
			if i%8 < 5 && x.noteAnswer(raft.ErrLeadershipTransferInProgress) {
				t.Errorf("refusal %d", i)
			}
		}
	})
}
