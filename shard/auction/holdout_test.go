package auction_test

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// A user in the holdout of a campaign never sees it and is enrolled as if it had won; of the others as many are enrolled.
func TestHoldout(t *testing.T) {
	h := holdoutMarket(t, 20)
	var users [market.Arms]int
	for user := uint64(1); user <= 4_000; user++ {
		arm, winner := h.arm(user), h.run(user)
		users[arm]++
		if held := arm == market.HeldOut; held && winner != "rival" || !held && winner != "own" {
			t.Fatalf("user %d of arm %d sees the ad of %q", user, arm, winner)
		}
		if lost := h.res.Results[0].Lost[auction.Holdout]; lost != uint32(boolInt(arm == market.HeldOut)) {
			t.Fatalf("for user %d of arm %d %d bids are lost for the holdout", user, arm, lost)
		}
	}
	for arm, want := range map[market.Arm]int{market.HeldOut: 800, market.Shown: 800, market.Unmeasured: 2_400} {
		if n := users[arm]; n < want*9/10 || n > want*11/10 {
			t.Errorf("arm %d has %d of 4,000 users, not about %d", arm, n, want)
		}
	}
	enrolled := h.m.CollectEnrolled(nil)
	if len(enrolled) != users[market.HeldOut]+users[market.Shown] {
		t.Errorf("%d users are enrolled, not %d and %d", len(enrolled), users[market.HeldOut], users[market.Shown])
	}
	for _, x := range enrolled {
		if h.arm(x.User) == market.Unmeasured || x.Percent != 20 || x.Ordinal != h.campaign.Ordinal {
			t.Fatalf("enrolled %+v", x)
		}
	}
	h.run(enrolled[0].User)
	if again := h.m.CollectEnrolled(nil); len(again) != 0 {
		t.Errorf("a user is enrolled twice a day: %+v", again)
	}
}

// Who is not named is never held out, and a bid that would have lost anyway enrols nobody.
func TestHoldoutOfNobody(t *testing.T) {
	h := holdoutMarket(t, 50)
	if winner := h.run(0); winner != "own" {
		t.Errorf("without a user %q wins", winner)
	}
	h.outbid()
	for user := range uint64(100) {
		if winner := h.run(user); winner != "rival" || h.res.Results[0].Lost[auction.Diversity] != 1 {
			t.Fatalf("user %d sees %q, lost are %v", user, winner, h.res.Results[0].Lost)
		}
	}
	if enrolled := h.m.CollectEnrolled(nil); len(enrolled) != 0 {
		t.Errorf("%d users are enrolled for a bid that never wins", len(enrolled))
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// The arms are part of what is measured: a change of the function would mix the users of a measurement.
func TestArmsNeverChange(t *testing.T) {
	c := model.Campaign{HoldoutPercent: 10}
	c.ID[3] = 7
	holdout, got := market.HoldoutOf(&c), ""
	for user := range uint64(60) {
		got += string("-sh"[holdout.Arm(user)])
	}
	if want := "-sh-s-sh-h----------------s-s-hh--------s---h-------s------h"; got != want {
		t.Errorf("arms are\n%s, not\n%s", got, want)
	}
	c.HoldoutPercent = 20
	wider := market.HoldoutOf(&c)
	for user := range uint64(10_000) {
		if holdout.Arm(user) != market.Unmeasured && wider.Arm(user) != market.HeldOut {
			t.Fatalf("user %d of arm %d has arm %d in a holdout twice as large", user, holdout.Arm(user), wider.Arm(user))
		}
	}
}

// holdouts is a market with a campaign that has a holdout and a cheaper one, for one product.
type holdouts struct {
	m        *market.Market
	w        *modelMarket
	campaign *campaign
	sc       auction.Scratch
	res      auction.Results
	seq      uint64
}

func holdoutMarket(t *testing.T, percent uint8) *holdouts {
	t.Helper()
	h := &holdouts{m: market.New(1), w: newModelMarket()}
	h.w.products["p"] = model.Product{ID: "p", Active: true, Quality: model.QualityOne}
	h.campaign = h.w.campaign("own", "v1", 1)
	h.campaign.HoldoutPercent = percent
	h.w.campaign("rival", "v2", 2)
	for i, name := range []string{"own", "rival"} {
		h.bid(name, uint32(i+1), int64(200_000-100_000*i))
	}
	h.w.feed(h.m)
	h.m.Publish()
	return h
}

func (h *holdouts) bid(name string, ordinal uint32, amount int64) {
	h.w.bids[bidKey{campaign: name, ordinal: ordinal}] = model.Bid{
		Ordinal: ordinal, Target: "p", TargetType: model.TargetProduct, Amount: money.Micros(amount), Active: true,
	}
}

// outbid makes the other campaign bid more.
func (h *holdouts) outbid() {
	h.bid("rival", 2, 900_000)
	h.w.feed(h.m)
	h.m.Publish()
}

func (h *holdouts) arm(user uint64) market.Arm {
	x := market.HoldoutOf(&h.campaign.Campaign)
	return x.Arm(user)
}

// run runs an auction of a user for one slot and returns the campaign that wins.
func (h *holdouts) run(user uint64) string {
	h.seq++
	v := h.m.View()
	auction.Run(v, params(100, h.seq), requestFor(v, 1, query{slots: 1, products: []string{"p"}, user: user}), &h.res, &h.sc)
	auction.RecordEnrolments(v, &h.res, 100)
	for name, c := range h.w.campaigns {
		if winners := h.res.Results[0].Winners; len(winners) > 0 && string(winners[0].Campaign[:]) == c.ID.String() {
			return name
		}
	}
	return ""
}
