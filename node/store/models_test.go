package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/attribution"
	"github.com/gavel-ads/gavel/shard/attribution/models"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// runModels computes the models for the touches of the last days, in one go.
func (w *shopping) runModels(days int, window attribution.Window) store.ModelResult {
	w.t.Helper()
	tenant := w.Store.Tenant(managetest.Main)
	run, err := tenant.NewModelRun(store.ModelQuery{Dates: w.lastDays(days), Window: window})
	if err != nil {
		w.t.Fatal(err)
	}
	for last := -1; !run.Done(); {
		if err := run.Page(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		if run.Percent() < last {
			w.t.Fatalf("%d %% are done after %d %%", run.Percent(), last)
		}
		last = run.Percent()
	}
	result, err := run.Result(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

func (w *shopping) lastDays(days int) store.Dates {
	today := w.Now().In(w.Store.Tenant(managetest.Main).Location())
	return store.Dates{From: today.AddDate(0, 0, 1-days).Format(time.DateOnly), To: today.Format(time.DateOnly)}
}

// journeys reports random touches, links, purchases and returns, credits them as the leaders do, and keeps nothing of what it
// did: the job has to find all of it in the state.
type journeys struct {
	*shopping
	random    *rand.Rand
	sent      []command.EventRecord // Touches, for repeats.
	groups    []ids.Group           // Of sent.
	purchases [][16]byte
	items     [][]command.PurchaseItem // Of purchases.
	erased    bool
}

func (j *journeys) event(kind event.Kind) command.EventRecord {
	r := j.record(kind)
	r.Key = [16]byte{byte(j.events), byte(j.events >> 8), 9}
	r.UserHash = 1 + j.random.Uint64N(4)
	if j.random.IntN(4) == 0 { // Reported late; a return is not earlier than its purchase.
		r.OccurredMillis -= j.random.Int64N(9 * 24 * time.Hour.Milliseconds())
		r.Cell = uint32(r.OccurredMillis / 900_000)
	}
	return r
}

func (j *journeys) step() {
	j.t.Helper()
	switch j.random.IntN(20) {
	case 0, 1, 2, 3, 4, 5, 6:
		r := j.event([]event.Kind{event.Impression, event.Click}[j.random.IntN(2)])
		of := j.random.IntN(len(j.campaigns))
		r.Campaign, r.Bid = j.campaigns[of].Ordinal, j.bids[of].Ordinal
		j.sent, j.groups = append(j.sent, r), append(j.groups, j.campaigns[of].Group)
		j.commit(r, j.campaigns[of].Group)
	case 7: // A repeat of a report.
		if n := len(j.sent); n > 0 {
			i := j.random.IntN(n)
			j.commit(j.sent[i], j.groups[i])
		}
	case 8, 9, 10, 11:
		j.purchase()
	case 12, 13:
		j.comeBack()
	case 14:
		j.link(1+j.random.Uint64N(4), 5+j.random.Uint64N(2))
		j.link(5+j.random.Uint64N(2), 1+j.random.Uint64N(4))
	case 15:
		_, err := j.Store.Tenant(managetest.Main).ChangeSettings(j.t.Context(), func(m *model.Marketplace) error {
			m.Attribution = model.Attribution(j.random.IntN(model.Attributions))
			return nil
		})
		if err != nil {
			j.t.Fatal(err)
		}
	case 16:
		j.Advance([]time.Duration{time.Millisecond, time.Second, time.Hour, 7 * 24 * time.Hour}[j.random.IntN(4)])
	default:
		j.credit([]time.Duration{0, time.Second, 6 * time.Second, time.Minute}[j.random.IntN(4)], j.data()...)
		if j.random.IntN(2) == 0 {
			j.carryOut()
		}
	}
}

func (j *journeys) purchase() {
	r := j.event(event.Purchase)
	for range 1 + j.random.IntN(3) {
		p := j.random.IntN(12)
		item := command.PurchaseItem{
			ProductID: fmt.Append(nil, "p", p), Quantity: 1 + j.random.Int64N(3), UnitPrice: money.Micros(1 + j.random.Int64N(9_999_999)),
		}
		if j.random.IntN(4) > 0 {
			item.VendorID = fmt.Append(nil, "v", p%6)
		}
		r.Items = append(r.Items, item)
	}
	j.purchases, j.items = append(j.purchases, r.Key), append(j.items, r.Items)
	j.commit(r, j.Store.Groups.GroupOf(ids.Shard(r.Key[0])))
}

// comeBack returns some pieces of a purchase.
func (j *journeys) comeBack() {
	if len(j.purchases) == 0 {
		return
	}
	i := j.random.IntN(len(j.purchases))
	r := j.record(event.Purchase)
	r.Key, r.ReturnOf = [16]byte{byte(j.events), byte(j.events >> 8), 9}, j.purchases[i]
	item := j.items[i][j.random.IntN(len(j.items[i]))]
	r.Items = []command.PurchaseItem{{ProductID: item.ProductID, Quantity: 1 + j.random.Int64N(2)}}
	j.commit(r, j.Store.Groups.GroupOf(ids.Shard(r.ReturnOf[0])))
}

// finish credits everything.
func (j *journeys) finish() {
	j.credit(time.Minute, j.data()...)
	for more := true; more; more = j.credit(0) > 0 {
		continue
	}
	for more := true; more; more = j.carryOut() > 0 {
		continue
	}
}

// TestTheStandardModelIsWhatWasCredited computes the models of random journeys: in any order, reported late and twice, at the
// edges of windows, by linked users, with returns, and while the marketplace changes its rules. For each campaign the standard
// model, computed again from the touches, gives exactly what was credited, which is what the reports show, and no purchase is
// left out. Models that only divide in another way give away exactly as much. In half of the runs users are erased; then
// purchases that cannot be computed again are counted, and with their credits the sums are those of the reports.
func TestTheStandardModelIsWhatWasCredited(t *testing.T) {
	runs := 60
	if testing.Short() {
		runs = 6
	}
	seed := rand.Uint64()
	t.Attr("seed", strconv.FormatUint(seed, 10))
	divided, erasedRuns, leftOut := int64(0), 0, int64(0)
	for n := range runs {
		j := &journeys{shopping: newShoppingOf(t, model.Listing, model.Banner, model.Listing, model.SponsoredBrand), random: rand.New(rand.NewPCG(seed, uint64(n)))}
		start := j.Now()
		for range 150 {
			if j.step(); j.Now().Sub(start) > 25*24*time.Hour {
				break
			}
		}
		if n%2 == 1 {
			j.finish()
			for _, user := range []uint64{1, 5} {
				if err := j.Store.Tenant(managetest.Main).EraseUser(t.Context(), user); err != nil {
					t.Fatal(err)
				}
			}
			j.erased = true
			erasedRuns++
			for range 20 {
				j.step()
			}
		}
		j.finish()
		days := int(j.Now().Sub(start).Hours()/24) + 11 // Some touches are reported 9 days late.
		result := j.runModels(days, attribution.Window{Click: 20, View: 2})
		j.compare(days, &result)
		divided += result.Counts.Recomputed
		leftOut += result.Counts.BuyerUnknown + result.Counts.Changed
		if t.Failed() {
			t.Fatalf("run %d of seed %d", n, seed)
		}
	}
	if divided < int64(5*runs) || leftOut == 0 {
		t.Errorf("only %d purchases were divided again, and %d were left out in %d runs with erased users", divided, leftOut, erasedRuns)
	}
}

// compare compares a result with the reports of the campaigns.
func (j *journeys) compare(days int, r *store.ModelResult) {
	j.t.Helper()
	c := r.Counts
	if c.Pending+c.TooOld > 0 || !j.erased && c.BuyerUnknown+c.Changed > 0 {
		j.t.Errorf("purchases were left out: %+v", c)
	}
	rows := map[ids.UUID]store.ModelRow{}
	for _, row := range r.Rows {
		rows[row.Campaign] = row
	}
	for i := range j.campaigns {
		id := j.campaigns[i].ID
		report, err := j.Store.Tenant(managetest.Main).CampaignReport(j.t.Context(), id, j.lastDays(days))
		if err != nil {
			j.t.Fatal(err)
		}
		row := rows[id]
		want := store.ModelSales{Count: report.Attributed.Count * store.ModelUnit, Quantity: report.Attributed.Quantity * store.ModelUnit, Amount: report.Attributed.Amount}
		if row.Reported() != want {
			j.t.Errorf("campaign %d: the standard model gives %+v, with what is left out %+v, reports %+v", i, row.ByModel[models.Standard], row.Reported(), want)
		}
		if !j.erased && row.NotRecomputable != (store.ModelSales{}) {
			j.t.Errorf("campaign %d: %+v cannot be computed again", i, row.NotRecomputable)
		}
	}
	for _, m := range []models.Model{models.First, models.Linear, models.Position} {
		if r.Total.ByModel[m] != r.Total.ByModel[models.Standard] {
			j.t.Errorf("%s gives away %+v, standard %+v", m, r.Total.ByModel[m], r.Total.ByModel[models.Standard])
		}
	}
}

// The models of one purchase of 3 pieces, of which one came back, after clicks on two days and an impression: what each campaign
// gets, to the millionth.
func TestModelsDivideAPurchase(t *testing.T) {
	w := newShopping(t)
	for _, forward := range []time.Duration{0, 24 * time.Hour, time.Hour} {
		w.Advance(forward)
		w.touch(event.Click, 0, 1)
	}
	w.Advance(24 * time.Hour)
	w.touch(event.Impression, 0, 2)
	w.Advance(time.Hour)
	key := w.buyOf(0, 3)
	w.credit(time.Minute, w.data()...)
	w.giveBack(key, 0, 1)
	w.carryOut()
	all := store.ModelSales{Count: 1_000_000, Quantity: 2_000_000, Amount: 6 * money.PerMajor}
	whole := w.runModels(10, attribution.Window{Click: 1}).Total
	for m := range models.Model(models.Models) {
		want := all
		if m == models.OtherWindows {
			want = store.ModelSales{} // The last click was 25 hours before.
		}
		if got := whole.ByModel[m]; got != want {
			t.Errorf("%s: %+v, want %+v", m, got, want)
		}
	}
	// Of the two days of the clicks, the first one alone: one of three clicks.
	first, err := w.Store.Tenant(managetest.Main).NewModelRun(store.ModelQuery{Dates: w.day(-2)})
	if err != nil {
		t.Fatal(err)
	}
	for !first.Done() {
		if err := first.Page(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r, err := first.Result(t.Context())
	if err != nil || len(r.Rows) != 1 {
		t.Fatal(r, err)
	}
	for m, want := range map[models.Model]store.ModelSales{
		models.Standard: {},
		models.First:    all,
		models.Linear:   {Count: 333_333, Quantity: 666_666, Amount: 2 * money.PerMajor},
		models.Position: {Count: 400_000, Quantity: 800_000, Amount: 6 * money.PerMajor * 2 / 5},
		models.ViewOnly: {},
	} {
		if got := r.Rows[0].ByModel[m]; got != want {
			t.Errorf("the first day by %s: %+v, want %+v", m, got, want)
		}
	}
}

// day is a day of the marketplace, counted from today.
func (w *shopping) day(offset int) store.Dates {
	at := w.Now().In(w.Store.Tenant(managetest.Main).Location()).AddDate(0, 0, offset).Format(time.DateOnly)
	return store.Dates{From: at, To: at}
}

// What a job cannot divide again it counts, by reason: a purchase of before the level, of an erased user, one whose touch is
// gone with an erased linked user, and one that is still open.
func TestModelsCountWhatTheyCannotDivide(t *testing.T) {
	w := newShopping(t)
	tenant := w.Store.Tenant(managetest.Main)
	w.touchBy(100, 1)
	w.link(100, buyer)
	w.touch(event.Click, 0, 1)
	w.Advance(time.Minute)
	w.buy(0) // Of the touch of the buyer.
	w.buy(1) // Of the touch of the linked user.
	w.credit(time.Minute, w.data()...)
	if r := w.runModels(2, attribution.Window{}); r.Counts != (store.ModelCounts{Recomputed: 2}) {
		t.Errorf("at first: %+v", r.Counts)
	}
	if err := tenant.EraseUser(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	w.buy(2) // Not credited yet.
	one := store.ModelSales{Count: store.ModelUnit, Quantity: store.ModelUnit, Amount: 3 * money.PerMajor}
	r := w.runModels(2, attribution.Window{})
	if r.Counts != (store.ModelCounts{Recomputed: 1, Changed: 1, Pending: 1}) || r.Total.NotRecomputable != one || r.Total.ByModel[models.Standard] != one {
		t.Errorf("the linked user was erased: %+v of %+v", r.Counts, r.Total)
	}
	if err := tenant.EraseUser(t.Context(), buyer); err != nil {
		t.Fatal(err)
	}
	r = w.runModels(2, attribution.Window{})
	if r.Counts != (store.ModelCounts{BuyerUnknown: 2}) || r.Total.NotRecomputable.Count != 2*store.ModelUnit || r.Total.ByModel[models.Standard] != (store.ModelSales{}) {
		t.Errorf("the buyer was erased: %+v of %+v", r.Counts, r.Total)
	}
}

// A purchase is divided again for as long as the touches of its windows are stored, and is counted as too old from the next
// day on.
func TestModelsNeedTheTouchesOfTheirWindows(t *testing.T) {
	w := newShopping(t)
	w.touch(event.Click, 0, 1)
	w.Advance(time.Minute)
	w.buy(0)
	w.credit(time.Minute, w.data()...)
	old := 0
	for day := 0; day < 62 && old < 2; day++ {
		r := w.runModels(day+2, attribution.Window{})
		switch {
		case r.Counts.TooOld == 1:
			if old++; day < 59 { // 90 days are stored, the longest window has 30.
				t.Errorf("it is too old after %d days", day)
			}
		case r.Counts.Recomputed != 1 || r.Total.ByModel[models.Standard].Count != store.ModelUnit:
			t.Errorf("after %d days: %+v of %+v", day, r.Counts, r.Total)
		}
		w.credit(24*time.Hour, w.data()...)
	}
	if old == 0 {
		t.Error("it was never too old")
	}
	if first := w.Store.Tenant(managetest.Main).ModelFirstDay(attribution.Window{Click: 88}); first != w.day(0).From {
		t.Errorf("with a window of 88 days the first day is %s, not today", first)
	}
}

// One job of a marketplace at a time; of those that are over the newest are kept; a job that is deleted is gone.
func TestModelJobsAreFew(t *testing.T) {
	w := newShopping(t)
	tenant := w.Store.Tenant(managetest.Main)
	var made []ids.UUID
	for range store.ModelJobsMax + 3 {
		x, err := tenant.AddModelJob(t.Context(), store.ModelQuery{Dates: w.day(0)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tenant.AddModelJob(t.Context(), store.ModelQuery{Dates: w.day(0)}); !errors.Is(err, store.ErrWrongState) {
			t.Errorf("a second job: %v", err)
		}
		w.Advance(time.Second)
		w.Work(t)
		made = append(made, x.ID)
	}
	all, err := tenant.ModelJobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var listed []ids.UUID
	for _, x := range all {
		if listed = append(listed, x.ID); x.Status != store.JobCompleted || x.Models.Percent != 100 || x.Models.Result == nil {
			t.Errorf("job %+v", x)
		}
	}
	slices.Reverse(made)
	if !slices.Equal(listed, made[:store.ModelJobsMax]) {
		t.Errorf("jobs %v are kept of %v", listed, made)
	}
	if _, err := tenant.OffsiteJob(t.Context(), made[0]); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the job is one of ad networks: %v", err)
	}
	if err := tenant.DeleteModelJob(t.Context(), made[0]); err != nil {
		t.Error(err)
	}
	if _, err := tenant.ModelJob(t.Context(), made[0]); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a deleted job is there: %v", err)
	}
	if err := w.Store.Tenant(managetest.Other).DeleteModelJob(t.Context(), made[1]); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a job of another marketplace was deleted: %v", err)
	}
	w.Advance(store.JobRetention + time.Minute)
	w.Work(t)
	if left, err := tenant.ModelJobs(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("%d jobs are left after a month, %v", len(left), err)
	}
}

// A job that is deleted while it is done stays deleted, and one that a second worker has taken over is done once: by the second,
// as when a leader does not know yet that it is not the leader any more.
func TestModelJobsAreCanceledAndTakenOver(t *testing.T) {
	w := newShopping(t)
	w.touch(event.Click, 0, 1)
	w.Advance(time.Minute)
	w.buy(0)
	w.credit(time.Minute, w.data()...)
	tenant := w.Store.Tenant(managetest.Main)
	atSecondCommand := func(do func()) {
		w.BeforeNextCommand(func() { w.BeforeNextCommand(do) })
	}
	add := func() ids.UUID {
		x, err := tenant.AddModelJob(t.Context(), store.ModelQuery{Dates: w.day(0)})
		if err != nil {
			t.Fatal(err)
		}
		return x.ID
	}
	runner := w.Runner()
	round := func() {
		for _, worker := range runner.Workers {
			if worker.Kind == store.TaskModels {
				runner.Round(t.Context(), worker)
			}
		}
	}

	canceled := add()
	atSecondCommand(func() {
		if err := tenant.DeleteModelJob(t.Context(), canceled); err != nil {
			t.Error(err)
		}
	})
	round()
	if _, err := tenant.ModelJob(t.Context(), canceled); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a canceled job is there: %v", err)
	}

	taken := add()
	var second store.Job
	atSecondCommand(func() {
		round()
		var err error
		if second, err = tenant.ModelJob(t.Context(), taken); err != nil || second.Status != store.JobCompleted {
			t.Errorf("the second worker left the job as %+v, %v", second, err)
		}
	})
	round()
	x, err := tenant.ModelJob(t.Context(), taken)
	if err != nil || x.Models.Worker != second.Models.Worker || x.Status != store.JobCompleted || x.Models.Result.Total.ByModel[models.Standard].Count != store.ModelUnit {
		t.Errorf("the job is %+v, %v, not as the second worker left it, %+v", x, err, second)
	}
}
