package fsck_test

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/node/fsck"
	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// twoGroups is a node with two data groups, each with one ledger account.
type twoGroups struct {
	t     *testing.T
	fs    *vfs.MemFS
	store *raftstore.Store
	now   int64
	a, b  ids.UUID // Accounts in groups 1 and 2.
}

func newTwoGroups(t *testing.T) *twoGroups {
	t.Helper()
	x := &twoGroups{t: t, fs: vfs.NewMem(), now: 1_795_132_800_000, a: ids.LedgerAccountOf(1, "a"), b: ids.LedgerAccountOf(1, "b")}
	s, err := raftstore.Open(raftstore.Config{
		Dir: "node", FS: x.fs, NodeID: "n1", Groups: []uint16{1, 2}, Expect: 1,
		Machine: func(g uint16) raftstore.StateMachine { return shard.New(ids.Group(g), g == 1, shardtest.NewFeed()) },
	})
	check(t, err)
	x.store = s
	for g := range uint16(2) {
		check(t, s.Group(g+1).WaitReady(t.Context()))
		x.do(g+1, command.AppendSetFeature(nil, x.now, command.SetFeature{Level: command.LevelNewest}))
	}
	x.do(1, command.AppendOpenAccount(nil, x.now, &command.OpenAccount{Request: ids.UUID{1}, Account: x.a, Marketplace: 1, Name: "a", Currency: "EUR"}))
	x.do(2, command.AppendOpenAccount(nil, x.now, &command.OpenAccount{Request: ids.UUID{2}, Account: x.b, Marketplace: 1, Name: "b", Currency: "EUR"}))
	// Money for group 1.
	x.do(1, command.AppendAdjustWallet(nil, x.now, &command.AdjustWallet{Request: ids.UUID{3}, Marketplace: 1, VendorID: "v", Amount: 1_000}))
	x.do(1, command.AppendTransfer(nil, x.now, &command.Transfer{
		ID: ids.UUID{4}, Marketplace: 1, From: ids.DefaultWalletOf(1, "v"), To: x.a, Amount: 900,
	}))
	return x
}

func (x *twoGroups) do(g uint16, cmd []byte) command.Result {
	x.t.Helper()
	raw, err := x.store.Group(g).Propose(x.t.Context(), cmd)
	check(x.t, err)
	r, err := command.ReadResult(raw)
	check(x.t, err)
	return r
}

// step runs a step of transfer n, of 100, in a group.
func (x *twoGroups) step(g uint16, n byte, s command.TransferStep) command.Result {
	return x.do(g, command.AppendTransfer(nil, x.now, &command.Transfer{
		ID: ids.UUID{9, n}, Step: s, Marketplace: 1, From: x.a, To: x.b, Amount: money.Micros(100), Millis: x.now,
	}))
}

// later advances the clocks of both groups.
func (x *twoGroups) later() {
	x.now += 60_000
	x.do(1, command.AppendAdvance(nil, x.now, &command.Advance{}))
	x.do(2, command.AppendAdvance(nil, x.now, &command.Advance{}))
}

func (x *twoGroups) audit() *fsck.Report {
	x.t.Helper()
	check(x.t, x.store.Close())
	r, err := fsck.Directory(x.fs, "node")
	check(x.t, err)
	return r
}

// TestBalancesTheGroups sends money between two groups: completed, received only, sent only, and returned. There is no
// problem, and the balances and the money in transit are right.
func TestBalancesTheGroups(t *testing.T) {
	x := newTwoGroups(t)
	x.step(1, 1, command.TransferSend)
	x.step(2, 1, command.TransferReceive)
	x.step(1, 1, command.TransferComplete)
	x.step(1, 2, command.TransferSend)
	x.step(2, 2, command.TransferReceive) // Received; the sender's group has not recorded it.
	x.step(1, 3, command.TransferSend)    // In transit.
	existing := x.b
	x.b = ids.LedgerAccountOf(1, "missing")
	x.step(1, 4, command.TransferSend)
	if r := x.step(2, 4, command.TransferReceive); r.Refusal != command.TooMany {
		t.Fatalf("an account that does not exist received: %v", r)
	}
	x.step(1, 4, command.TransferReturn)
	x.b = existing
	x.later()
	r := x.audit()
	if !r.Clean() || r.InTransit != 1 || r.InTransitMicros != 100 {
		t.Errorf("%d in transit with %d; %v", r.InTransit, r.InTransitMicros, r.Problems)
	}
	for id, want := range map[ids.UUID]int64{x.a: 600, x.b: 200, ids.DefaultWalletOf(1, "v"): 100} {
		for _, w := range r.Wallets {
			if w.ID == id.String() && w.Balance != want {
				t.Errorf("account %s of vendor %q holds %d, want %d", w.Name, w.Vendor, w.Balance, want)
			}
		}
	}
	var text strings.Builder
	check(t, r.WriteText(&text))
	if !strings.Contains(text.String(), "1 transfers with a sum of 0.000100 are in transit between groups") {
		t.Error(text.String())
	}
}

// TestFindsOneSidedTransfers plants what a defect of transfers between groups would leave.
func TestFindsOneSidedTransfers(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(x *twoGroups)
		want string
	}{
		"received, never sent": {func(x *twoGroups) { x.step(2, 1, command.TransferReceive) }, "CREDIT WITHOUT DEBIT"},
		"settled, never received": {func(x *twoGroups) {
			x.step(1, 1, command.TransferSend)
			x.step(1, 1, command.TransferComplete)
		}, "DEBIT WITHOUT CREDIT"},
		"received and returned": {func(x *twoGroups) {
			x.step(1, 1, command.TransferSend)
			x.step(2, 1, command.TransferReceive)
			x.step(1, 1, command.TransferReturn)
		}, "is in state"},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTwoGroups(t)
			c.do(x)
			x.later()
			if r := x.audit(); len(r.Problems) != 1 || !strings.Contains(r.Problems[0].What, c.want) {
				t.Errorf("want %q in %v", c.want, r.Problems)
			}
		})
	}
}

// A group that is behind may lack its side of a transfer; that is not a problem.
func TestGroupsAtDifferentTimes(t *testing.T) {
	x := newTwoGroups(t)
	x.step(2, 1, command.TransferReceive)
	x.now += 60_000
	x.do(2, command.AppendAdvance(nil, x.now, &command.Advance{}))
	if r := x.audit(); !r.Clean() || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "has not applied its side yet") {
		t.Errorf("%v, %v", r.Problems, r.Notes)
	}
}
