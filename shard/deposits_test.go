package shard_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

func depositOf(now int64, request int) []byte {
	var id ids.UUID
	binary.BigEndian.PutUint64(id[:], uint64(request)) // Not negative.
	return command.AppendAdjustWallet(nil, now, &command.AdjustWallet{Request: id, Marketplace: 1, VendorID: "v1", Amount: 1000})
}

// A leader whose clock is ten days ahead moves the state clock ahead by ten days. A deposit that was applied just
// before, and whose answer was lost, is repeated: it must not be applied again, and the memory of requests must stay
// bounded.
func TestClockJumpAppliesNoDepositTwice(t *testing.T) {
	const day = int64(24 * time.Hour / time.Millisecond)
	r := open(t, shardtest.NewKV())
	r.Do(depositOf(benchNow, 1))
	later := benchNow + 10*day
	advance := command.AppendAdvance(nil, later, &command.Advance{})
	r.Do(advance)
	if got := result(t, r.Do(depositOf(benchNow, 1))).Balance; got != 1000 {
		t.Fatalf("balance %d after the repetition, want 1000", got)
	}

	// An hour later, so many other deposits follow that the first one is no longer remembered.
	balance := result(t, r.Do(depositOf(later, 2))).Balance
	for request := 3; request <= event.RequestsKept+1; request++ {
		balance = result(t, r.Do(depositOf(later, request))).Balance
	}
	later += 2 * day
	r.Do(command.AppendAdvance(nil, later, &command.Advance{}))
	if got := result(t, r.Do(depositOf(later, 2))).Balance; got != 2000 {
		t.Errorf("the newest %d requests are to be remembered, the oldest of them answers %d", event.RequestsKept, got)
	}
	if got := result(t, r.Do(depositOf(later, 1))).Balance; got != balance+1000 {
		t.Errorf("one request more is remembered than is to be kept: %d", got)
	}
}
