package export_test

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/export"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// shop is a marketplace with six campaigns, in several groups, to which events are reported.
type shop struct {
	*managetest.Environment
	t         *testing.T
	tenant    store.Tenant
	campaigns []*model.Campaign
	ordinals  [][2]uint32 // Of each campaign and its first bid.
	events    uint32
}

func newShop(t *testing.T) *shop {
	t.Helper()
	w := &shop{Environment: managetest.New(t), t: t}
	w.tenant = w.Store.Tenant(managetest.Main)
	_, err := w.tenant.ChangeSettings(t.Context(), func(m *model.Marketplace) error {
		m.EventDays = model.EventDaysMax
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		c := &model.Campaign{
			VendorID: fmt.Sprint("v", i), Name: "c", Type: "manual", Charge: model.CPC, Active: true, Status: model.Approved, Budget: 40_000,
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

func (w *shop) read(g ids.Group, do func(shard.Queries)) {
	w.t.Helper()
	err := w.Store.Groups.Read(g, func(r shard.Reader) error {
		do(shard.Queries{R: r})
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *shop) propose(g ids.Group, cmd []byte) {
	w.t.Helper()
	if _, _, err := w.Store.Groups.ProposeAt(w.t.Context(), g, cmd); err != nil {
		w.t.Fatal(err)
	}
}

// record is an event that occurred some time ago.
func (w *shop) record(kind event.Kind, ago time.Duration) command.EventRecord {
	w.events++
	now := w.Now().UnixMilli()
	at := now - ago.Milliseconds()
	r := command.EventRecord{Kind: kind, OccurredMillis: at, Bucket: event.BucketOf(now), Cell: uint32(at / 3_600_000 * 4), UserHash: 7}
	binary.LittleEndian.PutUint32(r.Key[:], w.events)
	return r
}

// touch reports an impression or click on the ad of a campaign.
func (w *shop) touch(kind event.Kind, of int, price money.Micros, ago time.Duration) {
	w.t.Helper()
	r := w.record(kind, ago)
	r.Campaign, r.Bid, r.Price, r.Charge = w.ordinals[of][0], w.ordinals[of][1], price, model.CPC
	if kind == event.Impression {
		r.Charge = model.CPM
	}
	binary.LittleEndian.PutUint32(r.ChargeKey[1:], w.events)
	w.commit(r, w.campaigns[of].Group)
}

// buy reports a purchase of three pieces of the product of a campaign.
func (w *shop) buy(of int) [16]byte {
	w.t.Helper()
	r := w.record(event.Purchase, 0)
	r.Items = []command.PurchaseItem{{
		ProductID: fmt.Append(nil, "p", of), VendorID: fmt.Append(nil, "v", of), Quantity: 3, UnitPrice: 2 * money.PerMajor,
	}}
	w.commit(r, w.Store.Groups.GroupOf(ids.Shard(r.Key[0])))
	return r.Key
}

func (w *shop) commit(r command.EventRecord, g ids.Group) {
	w.t.Helper()
	e := command.Events{Marketplace: managetest.Main, Records: []command.EventRecord{r}}
	w.propose(g, command.AppendEvents(nil, w.Now().UnixMilli(), &e))
}

// giveBack reports that a piece of a purchase of the product of a campaign came back.
func (w *shop) giveBack(purchase [16]byte, of int) {
	w.t.Helper()
	r := w.record(event.Purchase, 0)
	r.ReturnOf = purchase
	r.Items = []command.PurchaseItem{{ProductID: fmt.Append(nil, "p", of), Quantity: 1}}
	w.commit(r, w.Store.Groups.GroupOf(ids.Shard(purchase[0])))
}

// tick moves the clocks of all groups forward.
func (w *shop) tick(d time.Duration) {
	w.t.Helper()
	w.Advance(d)
	for _, g := range w.Store.Groups.Groups() {
		w.propose(g, command.AppendAdvance(nil, w.Now().UnixMilli(), &command.Advance{}))
	}
}

// pass moves the clocks of all groups forward, credits purchases and takes credits of returns back.
func (w *shop) pass(d time.Duration) {
	w.t.Helper()
	w.tick(d)
	for _, g := range w.data() {
		if _, err := w.Store.CreditPurchases(w.t.Context(), g); err != nil {
			w.t.Fatal(err)
		}
		if _, err := w.Store.CarryOutReturns(w.t.Context(), g); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *shop) data() (groups []ids.Group) {
	for _, g := range w.Store.Groups.Groups() {
		if g.CarriesCampaigns() {
			groups = append(groups, g)
		}
	}
	return groups
}

// day lets some hours pass with random events, so many an hour, of which some are reported an hour late.
func (w *shop) day(hours, events int) {
	random := rand.New(rand.NewPCG(5, 6))
	for range hours {
		for range events {
			of := random.IntN(len(w.campaigns))
			ago := time.Duration(random.IntN(2)) * time.Hour
			switch random.IntN(4) {
			case 0:
				w.buy(of)
			case 1:
				w.touch(event.Impression, of, money.Micros(1+random.IntN(900)), ago)
			default:
				w.touch(event.Click, of, money.Micros(1+random.IntN(900)), ago)
			}
			w.pass(10 * time.Second)
		}
		w.pass(time.Hour - time.Duration(events)*10*time.Second)
	}
}

// exporter returns an exporter of a node that leads all groups.
func (w *shop) exporter(to export.Target) *export.Exporter {
	return &export.Exporter{
		Store: w.Store, Target: to, Formats: []export.Format{export.Parquet, export.NDJSONZstd}, Groups: w.data(),
		Leads: func(ids.Group) bool { return true }, Marketplaces: func() []uint16 { return []uint16{managetest.Main, managetest.Other} },
		Log: slog.New(slog.DiscardHandler),
	}
}

// export exports everything that is due, and returns how many hours failed.
func (w *shop) export(e *export.Exporter) (failed int) {
	w.t.Helper()
	for _, g := range w.data() {
		for more := true; more; {
			did, err := e.Round(w.t.Context(), g)
			if err != nil {
				failed++
			}
			more = did || err != nil
			if failed > 2 {
				w.t.Fatal(err)
			}
		}
	}
	return failed
}
