package store_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// lingering stores proposed commands and can deliver them again, like a connection to a process that was stopped for a while.
type lingering struct {
	groups
	sent []func() ([]byte, error)
}

func (l *lingering) ProposeAt(ctx context.Context, g ids.Group, cmd []byte) ([]byte, uint64, error) {
	again := bytes.Clone(cmd)
	l.sent = append(l.sent, func() ([]byte, error) {
		answer, _, err := l.groups.ProposeAt(ctx, g, bytes.Clone(again))
		return answer, err
	})
	return l.groups.ProposeAt(ctx, g, cmd)
}

// repeat delivers all commands once more, and compares the answers with a refusal.
func (l *lingering) repeat(t *testing.T, why command.Refusal) {
	t.Helper()
	for i, send := range l.sent {
		answer, err := send()
		if err != nil || command.Refusal(answer[0]) != why {
			t.Errorf("command %d, sent again, is answered %x, %v; want %s", i, answer, err, why)
		}
	}
	l.sent = nil
}

// TestWhatIsDeliveredAgainBringsNothingBack: a command that is delivered late and twice does not undo what another writer changed in
// between.
func TestWhatIsDeliveredAgainBringsNothingBack(t *testing.T) {
	w := managetest.New(t)
	late := &lingering{groups: w.Store.Groups}
	slow := (&store.Store{Groups: late, Now: w.Now, View: w.Store.View}).Tenant(managetest.Main)
	fast := w.Store.Tenant(managetest.Main)
	c, bids := campaign("v1", "made"), []model.Bid{{Target: "p", Amount: 5, Active: true}}
	if err := fast.CreateCampaign(t.Context(), c, bids); err != nil {
		t.Fatal(err)
	}
	change := func(by store.Tenant, name string, price money.Micros, users ...uint64) {
		t.Helper()
		_, settings := by.ChangeSettings(t.Context(), func(m *model.Marketplace) error { m.Name = name; return nil })
		_, segment := by.UpdateSegmentUsers(t.Context(), "s", command.SegmentReplace, users)
		err := errors.Join(
			settings, segment, by.PatchBid(t.Context(), &command.PatchBid{Campaign: c.ID, Bid: bids[0].ID, Amount: &price}),
			by.PatchCampaign(t.Context(), &command.PatchCampaign{Campaign: c.ID, Name: &name}),
			by.PutVendors(t.Context(), []model.Vendor{{ID: "v1", Name: name}}),
			by.PutCategories(t.Context(), []model.Category{{ID: "c", Name: name}}),
			by.PutProducts(t.Context(), []model.Product{{ID: "p", Name: name, Active: true}}),
		)
		if err != nil {
			t.Fatal(err)
		}
	}
	check := func(when, name string, price money.Micros, users int) {
		t.Helper()
		patched, err1 := fast.Campaign(t.Context(), c.ID)
		bid, err2 := fast.Bid(t.Context(), c.ID, bids[0].ID)
		vendor, err3 := fast.Vendor(t.Context(), "v1")
		category, err4 := fast.Category(t.Context(), "c")
		product, err5 := fast.Product(t.Context(), "p")
		size, err6 := fast.SegmentSize(t.Context(), "s")
		names := []string{patched.Name, vendor.Name, category.Name, product.Name, fast.Settings().Name}
		err := errors.Join(err1, err2, err3, err4, err5, err6)
		if err != nil || bid.Amount != price || size != users || slices.ContainsFunc(names, func(n string) bool { return n != name }) {
			t.Errorf("%s: names %v, want %s; price %d, %d users; %v", when, names, name, bid.Amount, size, err)
		}
	}
	change(slow, "slow", 7)
	check("first change", "slow", 7, 0)
	change(fast, "fast", 9, 1, 2, 3)
	check("second change", "fast", 9, 3)
	late.repeat(t, command.Done)
	check("the first change, delivered again", "fast", 9, 3)
	change(slow, "slower", 11)
	for _, g := range w.Store.Groups.Groups() { // A minute without requests.
		for range 257 {
			tick := command.AppendAdvance(nil, w.Now().UnixMilli(), &command.Advance{})
			if _, _, err := w.Store.Groups.ProposeAt(t.Context(), g, tick); err != nil {
				t.Fatal(err)
			}
		}
	}
	late.repeat(t, command.Expired)
	check("and again, too late to know", "slower", 11, 0)
}
