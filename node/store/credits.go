package store

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/attribution"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// A purchase lies in the group of its id, and the touches of its user in the groups of the campaigns. Any node can
// credit it: it reads the touches from its own replicas, proposes the decision to the purchase's group, and then has it
// carried out in the groups of the touches.
//
// The decision depends on the state alone, not on the node or the moment; only when the marketplace chooses other rules
// meanwhile, it may be by either. It considers the touches that were committed until creditDelayMillis after the purchase
// by the clocks of their groups, and it is made when the clocks of all groups have passed that time, so that no such touch
// can follow. A click that is committed later is counted and charged, and is not credited with this purchase, whenever it
// occurred.

// creditDelayMillis is how long after a purchase touches are awaited. The events of one request are committed by several
// groups, whose clocks differ by some hundred milliseconds.
const creditDelayMillis = 5_000

// BOUND: what one round reads of a group. A purchase has a few items of some hundred bytes; the longest ids make a command
// of 5 MB, less than raftstore.CommandBytesMax.
const (
	creditPurchasesMax = command.CreditsMax
	creditItemsMax     = 4_096
)

// CreditPurchases credits open purchases of a group, and returns how many it closed. It may be called by several nodes
// at the same time, and again after any failure: each item is credited once.
func (s *Store) CreditPurchases(ctx context.Context, g ids.Group) (closed int, err error) {
	open, err := s.openPurchases(g)
	if len(open) == 0 || err != nil {
		return 0, err
	}
	if err := s.decideCredits(ctx, g, open); err != nil {
		return 0, err
	}
	// Another node may have decided first. What the group has recorded is what counts.
	open, err = s.openPurchases(g)
	if err != nil {
		return 0, err
	}
	return s.carryOutCredits(ctx, g, open)
}

func (s *Store) openPurchases(g ids.Group) (open []shard.OpenPurchase, err error) {
	err = s.readGroup(g, func(b shard.Queries) { open = b.OpenCredits(creditPurchasesMax, creditItemsMax) })
	return open, err
}

// dataGroups are the groups that have campaigns.
func (s *Store) dataGroups() []ids.Group {
	return slices.DeleteFunc(slices.Clone(s.Groups.Groups()), func(g ids.Group) bool { return !g.CarriesCampaigns() })
}

// decideCredits decides those open purchases for which all touches are known.
func (s *Store) decideCredits(ctx context.Context, g ids.Group, open []shard.OpenPurchase) error {
	passed, err := s.clockOfAll()
	if err != nil {
		return err
	}
	var decided command.DecideCredits
	for i := range open {
		p := &open[i]
		if p.Decided || p.Name.OpenedMillis+creditDelayMillis >= passed {
			continue
		}
		d, err := s.decisionAbout(g, p)
		if err != nil {
			return err
		}
		decided.Decisions = append(decided.Decisions, d)
	}
	if len(decided.Decisions) == 0 {
		return nil
	}
	return s.proposeRepeatable(ctx, g, command.AppendDecideCredits(nil, s.Now().UnixMilli(), &decided))
}

// clockOfAll returns the time that the clocks of all groups have reached on this node.
func (s *Store) clockOfAll() (int64, error) {
	oldest := int64(math.MaxInt64)
	for _, g := range s.dataGroups() {
		if err := s.readGroup(g, func(b shard.Queries) { oldest = min(oldest, b.Clock()) }); err != nil {
			return 0, err
		}
	}
	return oldest, nil
}

// decisionAbout decides about a purchase of a group, by the rules that its marketplace has there now.
func (s *Store) decisionAbout(of ids.Group, p *shard.OpenPurchase) (command.CreditDecision, error) {
	d := command.CreditDecision{Purchase: p.Name}
	settings, level, err := s.settingsIn(of, p.Marketplace)
	if err != nil {
		return d, err
	}
	if level >= command.LevelModels { // Earlier nodes cannot read it.
		d.Attribution = settings.Attribution
	}
	d.Credits, err = s.creditsOf(p, &settings)
	return d, err
}

// creditsOf decides to which touches the items of a purchase go, under the settings of its marketplace.
func (s *Store) creditsOf(p *shard.OpenPurchase, settings *model.Marketplace) (credits []command.Credit, err error) {
	name := settings.Attribution
	rules := attribution.RulesOf(name)
	users, err := s.usersOf(p)
	if err != nil {
		return nil, err
	}
	touches := collected{rules: name, users: users}
	from, to := touchDays(p, rules.LongestDays(), TouchDays(settings))
	for _, g := range s.dataGroups() {
		if err := s.readGroup(g, func(b shard.Queries) { touches.collect(b, g, p, from, to) }); err != nil {
			return nil, err
		}
	}
	items := make([]attribution.Item, len(p.Items))
	for i := range items {
		items[i] = attribution.Item{Product: p.Items[i].ProductID, Vendor: p.Items[i].VendorID}
	}
	for i, c := range rules.Decide(touches.touches, p.OccurredMillis, items) {
		if c.Touch >= 0 {
			credits = append(credits, touches.credit(p, i, c))
		}
	}
	return credits, nil
}

// settingsIn returns the settings of a marketplace as the group of the purchase has them, and the level of the group: a
// decision then needs no other group than those that it reads anyway. A group without the settings uses the standard rules.
func (s *Store) settingsIn(g ids.Group, marketplace uint16) (m model.Marketplace, level command.Level, err error) {
	err = s.readGroup(g, func(b shard.Queries) {
		m, _ = b.Marketplace(marketplace)
		level = b.FeatureLevel()
	})
	return m, level, err
}

// LinkedUsersMax is how many users' touches may be credited with a purchase: its buyer's, and those of users who are linked
// to the buyer, directly or by others. BOUND: each of them is a read for every day and group. Of more the nearest are
// taken, and of these those that were linked last.
const LinkedUsersMax = 20

// usersOf returns the buyer of a purchase and the users linked to it. Like a touch, a link counts when its group's clock at
// its commit is at most creditDelayMillis after that at the purchase's commit.
func (s *Store) usersOf(p *shard.OpenPurchase) (users []uint64, err error) {
	users = []uint64{p.UserHash}
	for i := 0; i < len(users) && err == nil; i++ {
		err = s.readGroup(s.Groups.GroupOf(shard.UserShard(users[i])), func(b shard.Queries) {
			b.LinkedTo(p.Marketplace, users[i], p.Name.OpenedMillis+creditDelayMillis, func(user uint64) bool {
				if len(users) < LinkedUsersMax && !slices.Contains(users, user) {
					users = append(users, user)
				}
				return len(users) < LinkedUsersMax
			})
		})
	}
	return users, err
}

// collected are the touches of a buyer, and of the users linked to the buyer, in several groups, for a decision by some
// rules.
type collected struct {
	rules   model.Attribution
	users   []uint64
	touches []attribution.Touch
	origins []origin // Of each touch.
}

// origin says where a touch is from and what a credit repeats of it.
type origin struct {
	group ids.Group
	shard.Touch
}

// collect adds the users' touches of one group, of some days, that may be credited with a purchase.
func (k *collected) collect(b shard.Queries, g ids.Group, p *shard.OpenPurchase, from, to uint32) {
	for _, user := range k.users {
		b.Touches(p.Marketplace, user, from, to, func(t *shard.Touch) bool {
			if t.ReceivedMillis <= p.Name.OpenedMillis+creditDelayMillis {
				k.add(b, g, t)
			}
			return true
		})
	}
}

// add adds a touch of a group, unless the group does not have its campaign or bid.
func (k *collected) add(b shard.Queries, g ids.Group, t *shard.Touch) {
	ad, found := b.TouchedAd(t)
	if !found {
		return
	}
	k.touches = append(k.touches, attribution.Touch{
		Kind: t.Kind, Format: ad.Format, Millis: t.OccurredMillis, Product: ad.Product, Vendor: ad.VendorID, Key: t.Key,
	})
	k.origins = append(k.origins, origin{g, *t})
}

// credit gives an item of a purchase to a touch.
func (k *collected) credit(p *shard.OpenPurchase, item int, to attribution.Credit) command.Credit {
	t, bought := &k.origins[to.Touch], &p.Items[item]
	c := command.Credit{
		Purchase: p.Name, Item: uint16(item), Group: t.group, Marketplace: p.Marketplace, Campaign: t.Campaign, Bid: t.Bid, // Items are at most event.ItemsMax.
		Kind: t.Kind, Halo: to.Halo, Place: t.Place, Cell: t.Cell, UserHash: t.UserHash,
		Product: bought.ProductID, Quantity: bought.Quantity, UnitPrice: bought.UnitPrice, Price: t.Price, ChargeKey: t.ChargeKey,
		Attribution: k.rules,
	}
	if c.Halo && bought.Unknown {
		c.Product = shard.OtherProduct // A client may invent ids, and the counters of each are kept for ever.
	}
	if c.Price > 0 {
		c.Issued = t.Issued
	}
	return c
}

// carryOutCredits carries out what was decided, and closes the purchases.
func (s *Store) carryOutCredits(ctx context.Context, g ids.Group, open []shard.OpenPurchase) (closed int, err error) {
	byGroup := make(map[ids.Group]*command.ApplyCredits)
	var done command.CloseCredits
	for i := range open {
		p := &open[i]
		if !p.Decided {
			continue
		}
		done.Purchases = append(done.Purchases, p.Name)
		for j := range p.Credits {
			of := p.Credits[j].Group
			if byGroup[of] == nil {
				byGroup[of] = &command.ApplyCredits{}
			}
			byGroup[of].Credits = append(byGroup[of].Credits, p.Credits[j])
		}
	}
	if len(done.Purchases) == 0 {
		return 0, nil
	}
	for to, x := range byGroup { // In any order: they are independent.
		if err := s.proposeRepeatable(ctx, to, command.AppendApplyCredits(nil, s.Now().UnixMilli(), x)); err != nil {
			return 0, err
		}
	}
	return len(done.Purchases), s.proposeRepeatable(ctx, g, command.AppendCloseCredits(nil, s.Now().UnixMilli(), &done))
}

// proposeRepeatable commits a command. It is no attempt, because its repeats change nothing.
func (s *Store) proposeRepeatable(ctx context.Context, g ids.Group, cmd []byte) error {
	raw, _, err := s.Groups.ProposeAt(ctx, g, cmd)
	if err != nil {
		return fmt.Errorf("%w: group %d: %w", ErrUnavailable, g, err)
	}
	_, err = result(g, raw, nil)
	return err
}
