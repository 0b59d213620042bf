package raftstore

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// A follower that did not answer a transfer is left alone for a while; one that refused, or a new term, may be asked at once.
func TestTransfersRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x transfers
		late := errors.New("leadership transfer timeout")
		for i, step := range []struct {
			term uint64
			to   raft.ServerID
			wait time.Duration
			rest bool
			err  error
		}{
			{term: 2, to: "a", err: late},
			{term: 2, to: "a", rest: true},
			{term: 2, to: "b", err: errors.New("failed to make TimeoutNow RPC to b: no")},
			{term: 2, to: "b", err: raft.ErrLeadershipTransferInProgress},
			{term: 2, to: "b", err: raft.ErrNotLeader},
			{term: 2, to: "b", err: late},
			{term: 2, to: "b", rest: true, wait: transferRest / 2},
			{term: 2, to: "b", err: late, wait: transferRest / 2},
			{term: 3, to: "b", err: late},
		} {
			time.Sleep(step.wait)
			if err := x.begin(step.term, step.to); (err != nil) != step.rest {
				t.Errorf("step %d: %v", i, err)
			}
			if !step.rest {
				x.end(step.term, step.to, step.err)
			}
		}
	})
}

// A leader that says for long, and says nothing else, that a transfer goes on is stuck.
func TestTransferThatNeverEndsIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x transfers
		for i, step := range []struct {
			wait  time.Duration
			err   error
			stuck bool
		}{
			{0, raft.ErrLeadershipTransferInProgress, false},
			{transferStuck, raft.ErrLeadershipTransferInProgress, false},
			{time.Second, nil, false},
			{time.Second, raft.ErrLeadershipTransferInProgress, false},
			{time.Second, raft.ErrLeadershipLost, false},
			{transferStuck, raft.ErrLeadershipTransferInProgress, false},
			{transferStuck + 1, raft.ErrLeadershipTransferInProgress, true},
		} {
			time.Sleep(step.wait)
			if stuck := x.answered(step.err); stuck != step.stuck {
				t.Errorf("step %d: %v", i, stuck)
			}
		}
	})
}
