// Package sinkstest is a shop whose campaigns are charged, for tests of sinks, with brokers in memory and real ones. It says what a
// consumer has to receive by reading the journal itself.
package sinkstest

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/sinks"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// campaigns is how many campaigns the shop has; the last one pays for purchases, the others for clicks.
const campaigns = 6

// Shop is a marketplace with campaigns in several groups, to which events are reported.
type Shop struct {
	*managetest.Environment
	t         testing.TB
	tenant    store.Tenant
	campaigns []*model.Campaign
	ordinals  [][2]uint32 // Of each campaign and its first bid.
	events    uint32
	bought    [campaigns][16]byte // The newest purchase of each campaign's product.
	random    *rand.Rand
}

// NewShop returns a shop without events.
func NewShop(t testing.TB) *Shop {
	t.Helper()
	w := &Shop{Environment: managetest.New(t), t: t, random: rand.New(rand.NewPCG(5, 6))} //nolint:gosec // Repeatable, no secret.
	w.tenant = w.Store.Tenant(managetest.Main)
	for i := range campaigns {
		c := &model.Campaign{
			VendorID: fmt.Sprint("v", i), Name: "c", Type: "manual", Charge: model.CPC, Active: true, Status: model.Approved, Budget: 40_000,
		}
		if i == campaigns-1 {
			c.Charge, c.Period = model.CPA, model.Total
		}
		bids := []model.Bid{{Target: fmt.Sprint("p", i), Amount: 1_000, Active: true}}
		if err := w.tenant.CreateCampaign(t.Context(), c, bids); err != nil {
			t.Fatal(err)
		}
		if _, err := w.tenant.Adjust(t.Context(), c.VendorID, ids.UUID{}, money.Micros(20_000*(i+1)), false, ""); err != nil {
			t.Fatal(err)
		}
		w.campaigns = append(w.campaigns, c)
		w.read(c.Group, func(q shard.Queries) {
			state, _ := q.Campaign(c.ID)
			of, _ := q.Bids(state.Ordinal, 0, 1)
			w.ordinals = append(w.ordinals, [2]uint32{state.Ordinal, of[0].Ordinal})
		})
	}
	return w
}

func (w *Shop) read(g ids.Group, do func(shard.Queries)) {
	w.t.Helper()
	err := w.Store.Groups.Read(g, func(r shard.Reader) error {
		do(shard.Queries{R: r})
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// Data returns the groups that have campaigns.
func (w *Shop) Data() []ids.Group {
	return slices.DeleteFunc(slices.Clone(w.Store.Groups.Groups()), func(g ids.Group) bool { return !g.CarriesCampaigns() })
}

// GroupOf returns the group of a campaign.
func (w *Shop) GroupOf(campaign int) ids.Group { return w.campaigns[campaign].Group }

func (w *Shop) record(kind event.Kind) command.EventRecord {
	w.events++
	now := w.Now().UnixMilli()
	r := command.EventRecord{Kind: kind, OccurredMillis: now, Bucket: event.BucketOf(now), Cell: uint32(now / 3_600_000 * 4), UserHash: 7}
	binary.LittleEndian.PutUint32(r.Key[:], w.events)
	return r
}

func (w *Shop) commit(r command.EventRecord, g ids.Group) {
	w.t.Helper()
	e := command.Events{Marketplace: managetest.Main, Records: []command.EventRecord{r}}
	w.propose(g, command.AppendEvents(nil, w.Now().UnixMilli(), &e))
}

func (w *Shop) propose(g ids.Group, cmd []byte) {
	w.t.Helper()
	if _, _, err := w.Store.Groups.ProposeAt(w.t.Context(), g, cmd); err != nil {
		w.t.Fatal(err)
	}
}

// Touch reports a click or impression on the ad of a campaign.
func (w *Shop) Touch(kind event.Kind, of int, price money.Micros) {
	w.t.Helper()
	r := w.record(kind)
	r.Campaign, r.Bid, r.Price, r.Charge = w.ordinals[of][0], w.ordinals[of][1], price, w.campaigns[of].Charge
	if kind == event.Impression && r.Charge == model.CPC {
		r.Charge = model.CPM
	}
	binary.LittleEndian.PutUint32(r.ChargeKey[1:], w.events)
	w.commit(r, w.campaigns[of].Group)
}

// Buy reports a purchase of three pieces of the product of a campaign, and returns the group of the purchase.
func (w *Shop) Buy(of int) ids.Group {
	w.t.Helper()
	r := w.record(event.Purchase)
	r.Items = []command.PurchaseItem{{
		ProductID: fmt.Append(nil, "p", of), VendorID: fmt.Append(nil, "v", of), Quantity: 3, UnitPrice: 2 * money.PerMajor,
	}}
	g := w.Store.Groups.GroupOf(ids.Shard(r.Key[0]))
	w.commit(r, g)
	w.bought[of] = r.Key
	return g
}

// GiveBack reports that pieces of the newest purchase of a campaign's product came back, and takes them out of its credits.
func (w *Shop) GiveBack(of int, pieces int64) {
	w.t.Helper()
	r := w.record(event.Purchase)
	r.ReturnOf = w.bought[of]
	r.Items = []command.PurchaseItem{{ProductID: fmt.Append(nil, "p", of), Quantity: pieces}}
	g := w.Store.Groups.GroupOf(ids.Shard(r.ReturnOf[0]))
	w.commit(r, g)
	if _, err := w.Store.CarryOutReturns(w.t.Context(), g); err != nil {
		w.t.Fatal(err)
	}
}

// Reverse gives an amount back of what a campaign was charged.
func (w *Shop) Reverse(of int, amount money.Micros) {
	w.t.Helper()
	if _, err := w.tenant.ReverseAmount(w.t.Context(), w.campaigns[of].ID, amount, store.About{Author: "a"}); err != nil {
		w.t.Fatal(err)
	}
}

// Tick moves the clocks of all groups forward.
func (w *Shop) Tick(d time.Duration) {
	w.t.Helper()
	w.Advance(d)
	for _, g := range w.Store.Groups.Groups() {
		w.propose(g, command.AppendAdvance(nil, w.Now().UnixMilli(), &command.Advance{}))
	}
}

// Credit credits the purchases of some groups.
func (w *Shop) Credit(groups ...ids.Group) {
	w.t.Helper()
	for _, g := range groups {
		if _, err := w.Store.CreditPurchases(w.t.Context(), g); err != nil {
			w.t.Fatal(err)
		}
	}
}

// Pass moves the clocks of all groups forward, and credits purchases.
func (w *Shop) Pass(d time.Duration) {
	w.t.Helper()
	w.Tick(d)
	w.Credit(w.Data()...)
}

// Traffic reports a number of random clicks, impressions and purchases, ten seconds apart. Some of them charge nothing, because a budget
// is used up.
func (w *Shop) Traffic(n int) {
	w.t.Helper()
	for range n {
		of := w.random.IntN(campaigns)
		switch w.random.IntN(4) {
		case 0:
			w.Buy(of)
		case 1:
			w.Touch(event.Impression, of, money.Micros(1+w.random.IntN(900)))
		default:
			w.Touch(event.Click, of, money.Micros(1+w.random.IntN(900)))
		}
		w.Pass(10 * time.Second)
	}
}

// Sink returns a sink of a node that leads all groups, and that reads and writes through a store.
func (w *Shop) Sink(s *store.Store, cursor string, b sinks.Broker) *sinks.Sink {
	return &sinks.Sink{
		Name: "test", Cursor: cursor, Broker: b, Store: s, Groups: w.Data(), Leads: func(ids.Group) bool { return true },
		Now: w.Now, Log: slog.New(slog.DiscardHandler),
	}
}

// Send does rounds for all groups until there is nothing to send, and returns how many failed. After three failures of a group the test fails.
func (w *Shop) Send(s *sinks.Sink) (failed int) {
	w.t.Helper()
	for _, g := range w.Data() {
		f := s.Follow(g)
		for more, left := true, 3; more; {
			var err error
			if more, err = f.Round(w.t.Context()); err != nil {
				failed, left, more = failed+1, left-1, true
			}
			if left == 0 {
				w.t.Fatal(err)
			}
		}
	}
	return failed
}
