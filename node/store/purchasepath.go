package store

import (
	"cmp"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/attribution"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// Bounds of what is read about one purchase.
const (
	pathTouchesMax = 200 // BOUND: touches that are returned, the newest; a user has at most shard.TouchesMax of a kind, group and day.
	pathOpenMax    = 4 * creditPurchasesMax
	hourMillis     = 3600 * 1000
)

// PurchasePath is what led to a purchase: which items were credited to which touches of its user, and by which rules.
type PurchasePath struct {
	// HourMillis is the hour in which the purchase occurred; the exact time is kept only until it is credited.
	HourMillis int64
	Open       bool // It is not credited yet, or not in all groups.
	Rules      model.Attribution
	Credits    []PathCredit // In the order of the items; an item without one was credited to nobody.
	// UserKnown is false when the caller did not say who bought, and neither an open purchase does nor a credit of a level below
	// command.LevelUsers. A purchase that is credited names its user for ModelRun, and not for who looks at one. Then there are no
	// Touches.
	UserKnown bool
	Touches   []PathTouch // Newest first.
	More      bool        // There are older touches than the returned ones.
}

// PathCredit is an item of a purchase that was credited to a touch.
type PathCredit struct {
	shard.StoredCredit
	CampaignID ids.UUID
	Touch      int // Index of the touch, -1 when it is not among Touches.
}

// PathTouch is an impression or click of the user before the purchase.
type PathTouch struct {
	Kind       event.Kind
	Millis     int64 // When it occurred.
	Ad         shard.TouchedAd
	CampaignID ids.UUID
	Considered bool // It lies in the window of the rules, so that it could have been credited.

	origin origin
}

// PurchaseSecret returns the key of the hashes of event ids and user ids. ErrNotFound before the cluster has one.
func (s *Store) PurchaseSecret() (secret [32]byte, err error) {
	found := false
	err = s.readGroup(s.Groups.Meta(), func(b shard.Queries) {
		all, has := b.Secrets()
		secret, found = all.Duplicate, has
	})
	if err == nil && !found {
		err = ErrNotFound
	}
	return secret, err
}

// PurchasePath returns what led to the purchase with a key. user is the hash of its user, 0 when the caller does not know it; then it is
// found while the purchase is open, and later only for one that was credited below command.LevelUsers. ErrNotFound for a purchase that
// this node does not know, or no longer.
func (t Tenant) PurchasePath(key [16]byte, user uint64) (PurchasePath, error) {
	out := PurchasePath{Rules: t.Settings().Attribution}
	credited, err := t.creditsOfPurchase(&out, key)
	if err != nil {
		return out, err
	}
	if credited != 0 {
		user = credited
	}
	known, err := t.purchaseState(&out, key, &user)
	if err != nil {
		return out, err
	}
	if !known {
		return out, ErrNotFound
	}
	if out.UserKnown = user != 0; !out.UserKnown {
		return out, nil
	}
	if err := t.touchesBefore(&out, user); err != nil {
		return out, err
	}
	out.matchCredits()
	return out, nil
}

// creditsOfPurchase reads the credits of all groups, and returns the user whom they name, 0 without any.
func (t Tenant) creditsOfPurchase(out *PurchasePath, key [16]byte) (user uint64, err error) {
	today := uint32(t.now() / (24 * hourMillis)) // Days fit 32 bits.
	for _, g := range t.store.dataGroups() {
		err := t.store.readGroup(g, func(b shard.Queries) {
			for _, c := range b.CreditsOf(key, today-min(today, attribution.WindowDaysMax), today+1) {
				if c.Marketplace != t.marketplace {
					continue
				}
				campaign, _ := b.CampaignByOrdinal(c.Campaign)
				out.Credits = append(out.Credits, PathCredit{c, campaign.ID, -1})
				user, out.Rules = c.UserHash, c.Attribution
				out.HourMillis = c.Purchase.OpenedMillis / hourMillis * hourMillis
			}
		})
		if err != nil {
			return 0, err
		}
	}
	slices.SortFunc(out.Credits, func(a, b PathCredit) int { return cmp.Compare(a.Item, b.Item) })
	return user, nil
}

// purchaseState finds the hour of a purchase, whether it is open, and then its user. It reports false for an unknown purchase.
func (t Tenant) purchaseState(out *PurchasePath, key [16]byte, user *uint64) (known bool, err error) {
	known = len(out.Credits) > 0
	err = t.store.readGroup(t.store.Groups.GroupOf(ids.Shard(key[0])), func(b shard.Queries) {
		newest := t.now() + event.FutureMillisMax
		for millis := newest; millis > newest-attribution.WindowDaysMax*24*hourMillis && millis >= 0; millis -= hourMillis {
			if _, found := b.Decision(event.BucketOf(millis), key); found {
				known, out.HourMillis = true, millis/hourMillis*hourMillis
				break
			}
		}
		for _, p := range b.OpenCredits(pathOpenMax, creditItemsMax) {
			if p.Name.Key == key && p.Marketplace == t.marketplace {
				known, out.Open, out.HourMillis, *user = true, true, p.OccurredMillis/hourMillis*hourMillis, p.UserHash
			}
		}
	})
	return known, err
}

// touchesBefore reads the touches of a user until the end of the hour of the purchase.
func (t Tenant) touchesBefore(out *PurchasePath, user uint64) error {
	rules, end := attribution.RulesOf(out.Rules), out.HourMillis+hourMillis-1
	to := uint32(end / dayMillis) // Days fit 32 bits.
	from := to - min(to, uint32(rules.LongestDays()))
	for _, g := range t.store.dataGroups() {
		err := t.store.readGroup(g, func(b shard.Queries) {
			b.Touches(t.marketplace, user, from, to, func(x *shard.Touch) bool {
				ad, found := b.TouchedAd(x)
				if !found || x.OccurredMillis > end {
					return true
				}
				campaign, _ := b.CampaignByOrdinal(x.Campaign)
				touch := attribution.Touch{Kind: x.Kind, Format: ad.Format, Millis: x.OccurredMillis}
				out.Touches = append(out.Touches, PathTouch{
					Kind: x.Kind, Millis: x.OccurredMillis, Ad: ad, CampaignID: campaign.ID, Considered: rules.Considers(&touch, end), origin: origin{g, *x},
				})
				return true
			})
		})
		if err != nil {
			return err
		}
	}
	slices.SortStableFunc(out.Touches, func(a, b PathTouch) int { return cmp.Compare(b.Millis, a.Millis) })
	if out.More = len(out.Touches) > pathTouchesMax; out.More {
		out.Touches = out.Touches[:pathTouchesMax]
	}
	return nil
}

// matchCredits finds the touch of each credit: the newest of the same ad, kind and quarter of an hour, which a credit repeats.
func (p *PurchasePath) matchCredits() {
	for i := range p.Credits {
		c := &p.Credits[i]
		c.Touch = slices.IndexFunc(p.Touches, func(t PathTouch) bool {
			o := &t.origin
			return o.group == c.Group && o.Campaign == c.Campaign && o.Bid == c.Bid && o.Kind == c.Kind && o.Cell == c.Cell &&
				o.Place == c.Place
		})
	}
}
