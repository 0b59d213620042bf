package market

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/model"
)

// Arm is the part that a user has in the measurement of a campaign's holdout, or of a marketplace's experiment (Experiment),
// which changes the auctions of those held out.
type Arm uint8

// The arms.
const (
	Unmeasured Arm = iota // The user sees the campaign and is not compared.
	Shown                 // The user sees the campaign and is compared with those held out.
	HeldOut               // The user never sees the campaign.
	Arms       = int(HeldOut) + 1
)

// Holdout says which users never see a campaign. The arm of a user is a pure function of campaign, percentage and user,
// the same on every node and after every start. Of 10,000 places in a hash the first percent x 100 are held out, and as
// many after them are compared, so that both arms have the same size and few users have to be stored. A larger
// percentage moves users of Shown to HeldOut, never back.
type Holdout struct {
	Percent uint8  // 0: nobody is held out.
	seed    uint64 // Of the campaign.
}

// holdoutSeed is public: digits of the square root of 7. What keeps vendors from choosing users is the key of their hashes.
const holdoutSeed = 0xa54ff53a5f1d36f1

// holdoutPlaces is the number of places that a user may have; a percent has 100 of them.
const holdoutPlaces = 10_000

// HoldoutOf returns the holdout of a campaign.
func HoldoutOf(c *model.Campaign) Holdout {
	seed := Mix(Mix(holdoutSeed, binary.LittleEndian.Uint64(c.ID[:])), binary.LittleEndian.Uint64(c.ID[8:]))
	return Holdout{c.HoldoutPercent, seed}
}

// Arm returns the arm of a user, given by the hash of the id, as in events. No user, 0, is Unmeasured.
func (h *Holdout) Arm(user uint64) Arm {
	place, held := Mix(h.seed, user)%holdoutPlaces, uint64(h.Percent)*(holdoutPlaces/100)
	switch {
	case user == 0:
		return Unmeasured
	case place < held:
		return HeldOut
	case place < 2*held:
		return Shown
	default:
		return Unmeasured
	}
}
