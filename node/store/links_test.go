package store_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
)

// link links users as the node of a request does.
func (w *shopping) link(from, to uint64) {
	w.t.Helper()
	x := command.LinkUsers{Marketplace: managetest.Main, From: from, To: to}
	propose(w.t, w.Environment, command.AppendLinkUsers(nil, w.Now().UnixMilli(), &x), w.Store.Groups.GroupOf(shard.UserShard(to)))
}

// touchBy is touch by a user; buyer is the one who buys.
func (w *shopping) touchBy(user uint64, of int) {
	w.t.Helper()
	r := w.record(event.Click)
	r.UserHash, r.Campaign, r.Bid = user, w.campaigns[of].Ordinal, w.bids[of].Ordinal
	w.commit(r, w.campaigns[of].Group)
}

const buyer = 7 // Of shopping.record.

// Ads that a linked user has clicked are credited with the buyer's purchases, through other users too, and not the other
// way round.
func TestTouchesOfLinkedUsersAreCredited(t *testing.T) {
	w := newShopping(t)
	w.touchBy(100, 0)
	w.touchBy(200, 1)
	w.touchBy(300, 2) // The buyer is linked to this user.
	w.touchBy(400, 3) // Linked too late.
	w.link(100, buyer)
	w.link(200, 100)
	w.link(100, 200) // A circle.
	w.link(buyer, 300)
	w.Advance(time.Minute)
	w.buy(0, 1, 2, 3)
	w.Advance(time.Minute)
	w.link(400, buyer)
	w.credit(time.Minute, w.data()...)
	none, one := [3]int64{}, [3]int64{1, 0, 0}
	w.check("linked users", one, one, none, none, none, none)
}

// TestLinkedUsersAgreeWithModel links users at random over some days and compares which of them are credited with a
// purchase of each: those who lead to the buyer, level by level, those of a level in the order of their links, latest
// first, and at most LinkedUsersMax.
func TestLinkedUsersAgreeWithModel(t *testing.T) {
	w := newShopping(t)
	random := rand.New(rand.NewPCG(3, 4))
	type linked struct{ from, to uint64 }
	var links []linked // Latest last; made again on another day, a link is the latest.
	const users = 40
	for day := range 3 {
		for range 25 {
			l := linked{1 + random.Uint64N(users), 1 + random.Uint64N(users)}
			if l.from == l.to || slices.Contains(links, l) {
				continue
			}
			w.link(l.from, l.to)
			links = append(links, l)
			w.Advance(time.Second)
		}
		if day < 2 {
			w.Advance(24 * time.Hour)
		}
	}
	largest := 0
	for user := uint64(1); user <= users; user++ {
		want := []uint64{user}
		for i := 0; i < len(want); i++ {
			for _, l := range slices.Backward(links) {
				if l.to == want[i] && !slices.Contains(want, l.from) && len(want) < store.LinkedUsersMax {
					want = append(want, l.from)
				}
			}
		}
		p := shard.OpenPurchase{Name: command.PurchaseName{OpenedMillis: w.Now().UnixMilli()}}
		p.Marketplace, p.UserHash = managetest.Main, user
		got, err := w.Store.UsersOf(&p)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v: purchases of user %d are credited to touches of %v, want %v", err, user, got, want)
		}
		largest = max(largest, len(want))
	}
	if largest != store.LinkedUsersMax {
		t.Errorf("the bound of %d was not reached, only %d", store.LinkedUsersMax, largest)
	}
}
