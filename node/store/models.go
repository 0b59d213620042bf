package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/attribution"
	"github.com/gavel-ads/gavel/shard/attribution/models"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// A ModelRun divides purchases among their touches again, by all models, and sums what each campaign gets for its touches of
// some days. It reads what the decisions about the purchases read: the touches and links that are stored, up to the
// purchase.
//
// INVARIANT: what was credited of a purchase is what the standard model gives, item by item, or the purchase is in no model
// and its credits are in NotRecomputable. So the sum of both is what the reports show.

// Bounds of a run.
const (
	ModelDaysMax      = 31    // BOUND: local days of a run; a month.
	ModelDaysBack     = 60    // BOUND: how many days ago the first day may be; a purchase is kept for 62 UTC days after its report.
	modelPurchasesMax = 64    // BOUND: purchases of a page. It reads their touches of all groups into memory.
	modelScanMax      = 2_000 // BOUND: purchases of all marketplaces that a page looks at.
	modelRowsMax      = 50_000
	// ModelCampaignsMax is how many campaigns a result has. BOUND: it is a stored record of at most some 400 kB. The sums of
	// further campaigns, of those with the smallest amounts, are in one row without a campaign.
	ModelCampaignsMax = 500
)

// ModelUnit is what one item, or one piece, counts: a model divides items, so counts are in millionths.
const ModelUnit = 1_000_000

// modelPiecesMax bounds the pieces of an item in runs. BOUND: so that sums of millionths fit; a billion pieces of one item of a
// purchase count as a billion, in all columns.
const modelPiecesMax = 1_000_000_000

// ModelQuery is what a run computes.
type ModelQuery struct {
	Dates  Dates              // The local days of the touches.
	Window attribution.Window // Of the model OtherWindows, for all formats.
}

// ModelSales are items of purchases, or parts of items.
type ModelSales struct {
	Count    int64 // Items, in ModelUnit.
	Quantity int64 // Pieces, in ModelUnit.
	Amount   money.Micros
}

func (s *ModelSales) add(o ModelSales) {
	s.Count = addUp(s.Count, o.Count)
	s.Quantity = addUp(s.Quantity, o.Quantity)
	s.Amount = money.Micros(addUp(int64(s.Amount), int64(o.Amount)))
}

// addUp adds two numbers that are not negative. The sum is at most the largest int64.
func addUp(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// ModelRow is what a campaign gets.
type ModelRow struct {
	Campaign ids.UUID // Zero in a sum.
	Name     string
	VendorID string
	ByModel  [models.Models]ModelSales
	// NotRecomputable is what was credited of purchases that cannot be divided again.
	NotRecomputable ModelSales
}

// Add adds the sums of another row.
func (r *ModelRow) Add(o *ModelRow) {
	for m := range r.ByModel {
		r.ByModel[m].add(o.ByModel[m])
	}
	r.NotRecomputable.add(o.NotRecomputable)
}

// Reported is all that was credited: what the reports of the days show.
func (r *ModelRow) Reported() ModelSales {
	sum := r.ByModel[models.Standard]
	sum.add(r.NotRecomputable)
	return sum
}

// ModelCounts count the purchases of a run.
type ModelCounts struct {
	Recomputed int64 // They were divided again.
	// BuyerUnknown are credited purchases of an erased user, from before LevelModels, or from before the days whose touches the
	// marketplace keeps.
	BuyerUnknown int64
	// Changed are purchases whose stored touches lead to other credits now: a linked user was erased, or the marketplace
	// changed for how long it keeps touches.
	Changed int64
	TooOld  int64 // Credited purchases with a window that begins before the first stored day.
	// Pending are purchases of which a credit or a return is under way. They are in no column.
	Pending int64
}

// ModelResult is the result of a run.
type ModelResult struct {
	Rows          []ModelRow // The campaigns with the largest amounts first.
	Others        int        // How many campaigns are summed up in the last row, which then has no campaign.
	Total         ModelRow
	Counts        ModelCounts
	ThroughMillis int64 // Purchases that were committed later are left out.
}

// ModelRun computes a ModelResult page by page. It is used by one goroutine.
type ModelRun struct {
	tenant   Tenant
	query    ModelQuery
	span     cells
	journeys map[model.Attribution]models.Journeys
	groups   []ids.Group

	first, last uint32 // The UTC days on which purchases of the run may have been committed.
	day         uint32
	group       int // Index in groups.
	after       *[16]byte

	rows    map[rowKey]*ModelRow
	counts  ModelCounts
	through int64
}

// rowKey names a campaign.
type rowKey struct {
	group   ids.Group
	ordinal uint32
}

// NewModelRun returns a run that has read nothing yet. REQUIRES: CheckModelQuery found nothing wrong when the run was requested.
func (t Tenant) NewModelRun(q ModelQuery) (*ModelRun, error) {
	span, err := t.cells(q.Dates)
	if err != nil {
		return nil, err
	}
	through, err := t.store.clockOfAll()
	if err != nil {
		return nil, err
	}
	first := uint32(timeOf(span.from).Unix() / daySeconds) // Days fit 32 bits.
	r := &ModelRun{
		tenant: t, query: q, span: span, groups: t.store.dataGroups(), rows: map[rowKey]*ModelRow{}, through: through,
		journeys: map[model.Attribution]models.Journeys{},
		first:    first - min(first, 1), last: uint32(max(through, 0) / dayMillis), // A purchase may be dated half a minute after its report.
	}
	r.day = r.first
	return r, nil
}

const daySeconds = 24 * 3600

// Percent says how much of a run is done.
func (r *ModelRun) Percent() int {
	days := int(r.last) - int(r.first) + 1
	if r.Done() || days <= 0 {
		return 100
	}
	return (int(r.day-r.first)*len(r.groups) + r.group) * 100 / (days * len(r.groups))
}

// Done reports whether all purchases were read.
func (r *ModelRun) Done() bool { return r.day > r.last || len(r.groups) == 0 }

// Page divides the purchases of the next page. An error leaves the run as it was, so that the page can be read again. It is
// background work: see limits.Work.
func (r *ModelRun) Page(ctx context.Context) error {
	if r.Done() {
		return nil
	}
	t := r.tenant.WithSession(NewSession(ctx, false))
	p := modelPage{run: r, tenant: t}
	if err := p.read(ctx); err != nil {
		return err
	}
	p.count()
	if r.after = p.next; r.after == nil {
		r.advance()
	}
	if len(r.rows) > modelRowsMax {
		return fmt.Errorf("%w: more than %d campaigns have sales", ErrTooMany, modelRowsMax)
	}
	return nil
}

// advance goes on to the next group or day.
func (r *ModelRun) advance() {
	if r.group++; r.group == len(r.groups) {
		r.group = 0
		r.day++
	}
}

// journeysOf returns the models under some rules.
func (r *ModelRun) journeysOf(name model.Attribution) *models.Journeys {
	j, known := r.journeys[name]
	if !known {
		j = models.NewJourneys(attribution.RulesOf(name), r.query.Window)
		r.journeys[name] = j
	}
	return &j
}

func (r *ModelRun) row(g ids.Group, campaign uint32) *ModelRow {
	key := rowKey{g, campaign}
	if r.rows[key] == nil {
		r.rows[key] = &ModelRow{}
	}
	return r.rows[key]
}

// Result returns the result of a run that is done.
func (r *ModelRun) Result(ctx context.Context) (ModelResult, error) {
	out := ModelResult{Counts: r.counts, ThroughMillis: r.through}
	for _, g := range r.groups {
		err := r.tenant.readInSteps(ctx, g, func(b *longState) {
			for key, row := range r.rows { // order: sorted below.
				if key.group != g || b.stopped() {
					continue
				}
				c, _ := b.CampaignByOrdinal(key.ordinal)
				row.Campaign, row.Name, row.VendorID = c.ID, c.Name, c.VendorID
			}
		})
		if err != nil {
			return out, err
		}
	}
	for _, row := range r.rows { // order: sorted below.
		out.Rows = append(out.Rows, *row)
		out.Total.Add(row)
	}
	slices.SortFunc(out.Rows, func(a, b ModelRow) int {
		return cmp.Or(cmp.Compare(b.Reported().Amount, a.Reported().Amount), strings.Compare(a.Campaign.String(), b.Campaign.String()))
	})
	if out.Others = max(0, len(out.Rows)-ModelCampaignsMax); out.Others > 0 {
		others := ModelRow{}
		for i := range out.Rows[ModelCampaignsMax:] {
			others.Add(&out.Rows[ModelCampaignsMax+i])
		}
		out.Rows = append(out.Rows[:ModelCampaignsMax:ModelCampaignsMax], others)
	}
	return out, nil
}

// modelPage is a page of purchases of one group and day, with what their credits follow from.
type modelPage struct {
	run       *ModelRun
	tenant    Tenant
	purchases []modelPurchase
	next      *[16]byte // Where the next page begins, nil at the end of the day.
}

// modelPurchase is a purchase of a page.
type modelPurchase struct {
	shard.StoredPurchase
	open    shard.OpenPurchase // As it was when it was decided.
	touches collected
	credits []storedOf // What was credited.
	from    uint32     // The first day whose touches it needs.
	tooOld  bool
}

// storedOf is a credit and the group that keeps it.
type storedOf struct {
	group ids.Group
	shard.StoredCredit
}

// read reads the page. The purchases come first, and then everything else as new as them: a purchase that is not pending has
// all its credits by then.
func (p *modelPage) read(ctx context.Context) error {
	r := p.run
	err := p.tenant.readInSteps(ctx, r.groups[r.group], func(b *longState) {
		all, next := b.PurchasesOn(p.tenant.marketplace, r.day, r.after, modelPurchasesMax, modelScanMax)
		p.next = next
		for i := range all {
			if all[i].Name.OpenedMillis <= r.through {
				p.purchases = append(p.purchases, modelPurchase{StoredPurchase: all[i]})
			}
		}
	})
	if err != nil || len(p.purchases) == 0 {
		return err
	}
	current := p.tenant.WithSession(NewSession(ctx, false))
	for _, g := range r.groups {
		if err := current.AwaitCurrent(g); err != nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	work, settings := limits.WorkOf(ctx), p.tenant.Settings()
	for i := range p.purchases {
		if err := work.Step(ctx); err != nil {
			return err
		}
		if err := p.purchases[i].prepare(p, TouchDays(&settings)); err != nil {
			return err
		}
	}
	for _, g := range r.groups {
		if err := current.readInSteps(ctx, g, func(b *longState) { p.collect(b, g) }); err != nil {
			return err
		}
	}
	return nil
}

// prepare finds the users whose touches count for a purchase.
func (x *modelPurchase) prepare(p *modelPage, kept int) (err error) {
	x.open.Name, x.open.Marketplace, x.open.UserHash, x.open.OccurredMillis = x.Name, x.Marketplace, x.Buyer, x.OccurredMillis
	if x.Buyer == 0 {
		return nil
	}
	x.touches.rules = x.Attribution
	longest := p.run.journeysOf(x.Attribution).LongestDays()
	x.from, _ = touchDays(&x.open, longest, kept)
	x.touches.users, err = p.tenant.store.usersOf(&x.open)
	return err
}

// collect reads the touches and credits of one group.
func (p *modelPage) collect(b *longState, g ids.Group) {
	firstKept := b.TouchesFrom(p.tenant.marketplace)
	for i := range p.purchases {
		if b.stopped() {
			return
		}
		x := &p.purchases[i]
		for item := range x.Items {
			if x.Items[item].Credit != g {
				continue
			}
			if c, found := b.Credit(&x.Name, uint16(item)); found { // Items are at most event.ItemsMax.
				x.credits = append(x.credits, storedOf{g, c})
			}
		}
		if x.Buyer != 0 {
			x.tooOld = x.tooOld || x.from < firstKept
			x.touches.collect(b.Queries, g, &x.open, x.from, uint32(max(x.OccurredMillis, 0)/dayMillis)) // Days fit 32 bits.
		}
	}
}

// count adds the purchases of a page to the run.
func (p *modelPage) count() {
	for i := range p.purchases {
		x := &p.purchases[i]
		switch {
		case x.Pending:
			p.run.counts.Pending++
		case x.Buyer == 0:
			p.run.leaveOut(x, &p.run.counts.BuyerUnknown)
		case x.tooOld:
			p.run.leaveOut(x, &p.run.counts.TooOld)
		default:
			p.run.divide(x)
		}
	}
}

// leaveOut counts what was credited of a purchase that cannot be divided again. One of which nothing was credited counts nowhere.
func (r *ModelRun) leaveOut(x *modelPurchase, reason *int64) {
	if len(x.credits) > 0 {
		*reason++
	}
	for i := range x.credits {
		c := &x.credits[i]
		if c.Cell >= r.span.from && c.Cell < r.span.to {
			r.row(c.group, c.Campaign).NotRecomputable.add(salesLeft(c.Quantity, c.Returned, c.UnitPrice))
		}
	}
}

// divide divides a purchase by all models, if the standard model gives what was credited.
func (r *ModelRun) divide(x *modelPurchase) {
	items := make([]attribution.Item, len(x.Items))
	for i := range items {
		items[i] = attribution.Item{Product: x.Items[i].ProductID, Vendor: x.Items[i].VendorID}
	}
	byModel := r.journeysOf(x.Attribution).Divide(x.touches.touches, x.OccurredMillis, items)
	if !x.credited(byModel[models.Standard]) {
		r.counts.Changed++
		r.leaveOut(x, new(int64)) // It is counted, also when nothing was credited.
		return
	}
	r.counts.Recomputed++
	for m := range byModel {
		for i, parts := range byModel[m] {
			item := &x.Items[i]
			r.share(models.Model(m), x, parts, salesLeft(item.Quantity, item.Returned, item.UnitPrice)) // Below models.Models.
		}
	}
}

// credited reports whether the items were credited to the touches of their parts, and to no others.
func (x *modelPurchase) credited(standard [][]models.Part) bool {
	got := make([]*storedOf, len(x.Items))
	for i := range x.credits {
		got[x.credits[i].Item] = &x.credits[i]
	}
	for i, parts := range standard {
		c := got[i]
		if (c == nil) != (len(parts) == 0) {
			return false
		}
		if c == nil {
			continue
		}
		o := &x.touches.origins[parts[0].Touch]
		if o.group != c.group || o.Campaign != c.Campaign || o.Bid != c.Bid || o.Kind != c.Kind || o.Cell != c.Cell ||
			o.Place != c.Place || x.Items[i].Returned != c.Returned {
			return false
		}
	}
	return true
}

// share adds the parts of an item to the campaigns of their touches.
func (r *ModelRun) share(m models.Model, x *modelPurchase, parts []models.Part, whole ModelSales) {
	if len(parts) == 0 {
		return
	}
	counts, pieces, amounts := models.Split(whole.Count, parts), models.Split(whole.Quantity, parts), models.Split(int64(whole.Amount), parts)
	for i, part := range parts {
		t := &x.touches.origins[part.Touch]
		if t.Cell >= r.span.from && t.Cell < r.span.to {
			r.row(t.group, t.Campaign).ByModel[m].add(ModelSales{counts[i], pieces[i], money.Micros(amounts[i])})
		}
	}
}

// salesLeft is what is left of an item after some of its pieces came back, as counters have it.
func salesLeft(quantity, returned int64, unitPrice money.Micros) ModelSales {
	var s rollup.Sales
	s.Add(quantity, unitPrice)
	if returned > 0 {
		s.TakeBack(&rollup.Return{Quantity: quantity, UnitPrice: unitPrice, After: returned})
	}
	return ModelSales{s.Count * ModelUnit, min(s.Quantity, modelPiecesMax) * ModelUnit, s.Amount}
}

// ModelWindowMax is the longest window in days that the model OtherWindows may have: touches of more days may not be stored.
func (t Tenant) ModelWindowMax() int {
	settings := t.Settings()
	return TouchDays(&settings) - touchDaysSpare
}

// ModelFirstDay returns the first local day that a run may have, given the windows of the model OtherWindows: earlier touches, or
// purchases, are not stored any more.
func (t Tenant) ModelFirstDay(w attribution.Window) string {
	settings := t.Settings()
	j := models.NewJourneys(attribution.RulesOf(settings.Attribution), w)
	back := min(ModelDaysBack, TouchDays(&settings)-touchDaysSpare-j.LongestDays())
	return t.store.Now().In(t.Location()).AddDate(0, 0, -max(back, 0)).Format(time.DateOnly)
}
