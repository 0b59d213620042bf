package auction_test

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// An experiment without pacing lets campaigns bid that pacing would hold back, for its users only. A campaign that is stopped,
// because it has spent what it may on a day, stays stopped for them too.
func TestUnpacedAuctionsKnowStoppedCampaigns(t *testing.T) {
	h := holdoutMarket(t, 0)
	h.w.settings.Experiment = model.Experiment{Percent: 40, Treatment: model.TreatUnpaced, StartMillis: 1}
	h.w.feed(h.m)
	h.m.Publish()
	arms := market.ArmsOf(&h.w.settings)
	const neverCompetes = pacing.Unshaded // Its probability is 0.
	for word, wins := range map[uint64]bool{neverCompetes: true, pacing.Stopped: false} {
		h.campaign.slot.Pacing.Store(word)
		treated := 0
		for user := range uint64(100) {
			want := "rival"
			if arms.Arm(user) == market.HeldOut {
				treated++
				if wins {
					want = "own"
				}
			}
			if winner := h.run(user); winner != want {
				t.Fatalf("with the word %#x user %d of arm %d sees %q, not %q", word, user, arms.Arm(user), winner, want)
			}
		}
		if treated < 20 {
			t.Errorf("only %d of 100 users are treated", treated)
		}
	}
}
