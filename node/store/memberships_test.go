package store_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/behavior"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// audience is an environment with campaigns in all groups, whose users join and leave dynamic segments.
type audience struct {
	*shopping
	tenant store.Tenant
	did    []done
}

// done is something that a user did.
type done struct {
	user uint64
	behavior.Action
}

func newAudience(t *testing.T) *audience {
	w := newShopping(t)
	return &audience{shopping: w, tenant: w.Store.Tenant(managetest.Main)}
}

// condition is a behavior without parameters.
func condition(action string, days int, operator string, value int) behavior.Behavior {
	return behavior.Behavior{
		Logic: "and", ActionType: action, TimeWindow: behavior.Window{Value: days},
		Frequency: behavior.Frequency{Value: value, Operator: operator}, Parameters: []behavior.Parameter{},
	}
}

// define stores a dynamic segment.
func (w *audience) define(id string, all ...behavior.Behavior) behavior.Definition {
	w.t.Helper()
	d := behavior.Definition{Behaviors: all}
	text, err := json.Marshal(d)
	if err != nil {
		w.t.Fatal(err)
	}
	w.put(store.Segment{ExternalID: id, Name: id, Definition: text})
	return d
}

func (w *audience) put(x store.Segment) {
	w.t.Helper()
	if err := w.tenant.PutSegments(w.t.Context(), []store.Segment{x}); err != nil {
		w.t.Fatal(err)
	}
}

// does reports that a user of a marketplace did something a while ago: saw or clicked the ad of a campaign, or bought its
// product.
func (w *audience) does(marketplace uint16, kind event.Kind, of int, user uint64, ago time.Duration) {
	w.t.Helper()
	r := w.record(kind)
	r.Key = [16]byte{byte(w.events), byte(w.events >> 8), 9}
	r.OccurredMillis -= ago.Milliseconds()
	r.UserHash, r.Bucket, r.Cell = user, event.BucketOf(r.OccurredMillis), event.BucketOf(r.OccurredMillis)*4
	product, vendor := fmt.Sprint("p", of), fmt.Sprint("v", of)
	to := w.campaigns[of].Group
	if kind == event.Purchase {
		r.Items = []command.PurchaseItem{{ProductID: []byte(product), VendorID: []byte(vendor), Quantity: 1}}
		to = w.Store.Groups.GroupOf(ids.Shard(r.Key[0]))
	} else {
		r.Campaign, r.Bid = w.campaigns[of].Ordinal, w.bids[of].Ordinal
	}
	e := command.Events{Marketplace: marketplace, Records: []command.EventRecord{r}}
	propose(w.t, w.Environment, command.AppendEvents(nil, w.Now().UnixMilli(), &e), to)
	if marketplace == managetest.Main {
		w.did = append(w.did, done{user, behavior.Action{
			Kind: kind, Millis: r.OccurredMillis, Subjects: []behavior.Entity{{Product: product, Vendors: []string{vendor}}},
		}})
	}
}

// pass moves the clock of this environment and of all groups.
func (w *audience) pass(d time.Duration) {
	w.t.Helper()
	w.Advance(d)
	for _, g := range w.Store.Groups.Groups() {
		propose(w.t, w.Environment, command.AppendAdvance(nil, w.Now().UnixMilli(), &command.Advance{}), g)
	}
}

// evaluate evaluates until nothing is left.
func (w *audience) evaluate() { w.evaluateOf(w.tenant) }

func (w *audience) evaluateOf(of store.Tenant) {
	w.t.Helper()
	for range 3 { // The first round may only make the groups watch.
		for more := true; more; {
			again, err := of.EvaluateSegments(w.t.Context())
			if err != nil {
				w.t.Fatal(err)
			}
			more = again
		}
	}
}

// members lists those of the users 1 to 9 who are stored in a segment.
func (w *audience) members(id string) (users []uint64) {
	w.t.Helper()
	_ = w.Store.Groups.Read(w.Store.Groups.Meta(), func(r shard.Reader) error { // The groups of the tests can be read.
		b := shard.Queries{R: r}
		dynamic := slices.IndexFunc(b.DynamicSegments(managetest.Main), func(x shard.DynamicSegment) bool { return x.ID == id })
		for user := uint64(1); user <= 9; user++ {
			if dynamic < 0 && slices.Contains(b.SegmentsWith(managetest.Main, user), id) {
				users = append(users, user)
			}
		}
		if dynamic >= 0 {
			users = membersIn(r, b.DynamicSegments(managetest.Main)[dynamic].Number)
		}
		return nil
	})
	if size, err := w.tenant.SegmentSize(w.t.Context(), id); err != nil || size != len(users) {
		w.t.Errorf("%s has the size %d (%v), and %v are in it", id, size, err, users)
	}
	return users
}

// membersIn reads the stored memberships of a dynamic segment.
func membersIn(r shard.Reader, number uint64) (users []uint64) {
	const tableMember = 0x42
	from := binary.BigEndian.AppendUint64([]byte{tableMember, 1}, number)
	to := binary.BigEndian.AppendUint64([]byte{tableMember, 1}, number+1)
	r.Scan(from, to, func(_, value []byte) bool {
		var x command.Membership
		d := command.NewDecoder(value)
		if d.Membership(&x); x.Member {
			users = append(users, x.User)
		}
		return true
	})
	return users
}

func (w *audience) check(why, id string, want ...uint64) {
	w.t.Helper()
	if got := w.members(id); !slices.Equal(got, want) {
		w.t.Errorf("%s: %v are in %s, want %v", why, got, id, want)
	}
}

const aDay = 24 * time.Hour

// A user joins with the event that completes a condition, and leaves at the second at which a window has passed.
func TestUsersJoinAndLeaveAtTheSecond(t *testing.T) {
	w := newAudience(t)
	w.define("clickers", condition("clicks", 2, "gte", 2))
	w.define("idle", condition("impressions", 30, "gte", 1), condition("purchases", 1, "eq", 0))
	w.pass(time.Second)
	w.evaluate()
	w.does(managetest.Main, event.Click, 0, 1, 0)
	w.does(managetest.Main, event.Impression, 1, 2, 0)
	w.pass(time.Second)
	w.evaluate()
	w.check("one click", "clickers")
	w.check("an impression and no purchase", "idle", 2)
	w.does(managetest.Main, event.Click, 4, 1, 0)
	w.does(managetest.Main, event.Purchase, 2, 2, 0)
	w.pass(time.Second)
	w.evaluate()
	w.check("two clicks, in two groups", "clickers", 1)
	w.check("a purchase", "idle")
	// The first click was two seconds ago, the purchase one.
	// An evaluation is about the millisecond before that of the clocks.
	w.pass(aDay - time.Second)
	w.evaluate()
	w.check("a day after the purchase, less a millisecond", "idle")
	w.pass(time.Second)
	w.evaluate()
	w.check("at the second after", "idle", 2)
	w.pass(aDay - 2*time.Second)
	w.evaluate()
	w.check("two days after the first click, less a millisecond", "clickers", 1)
	w.pass(time.Second)
	w.evaluate()
	w.check("at the second after", "clickers")
}

// Who did something before a definition is found by it, and again by a new definition. A static segment has no members of
// before, and nothing is left of a deleted one.
func TestNewDefinitionsFindFormerUsers(t *testing.T) {
	w := newAudience(t)
	ctx := t.Context()
	for user := uint64(1); user <= 5; user++ {
		w.does(managetest.Main, event.Click, int(user), user, time.Duration(user)*aDay)
	}
	w.define("s", condition("clicks", 3, "gte", 1))
	w.pass(time.Second)
	if percent, err := w.tenant.SegmentProgress(ctx); err != nil || percent["s"] != 0 {
		t.Errorf("%v (%v) is evaluated before it begins", percent, err)
	}
	w.evaluate()
	w.check("three days", "s", 1, 2)
	if percent, err := w.tenant.SegmentProgress(ctx); err != nil || percent["s"] != 100 {
		t.Errorf("%v (%v) is evaluated in the end", percent, err)
	}
	w.define("s", condition("clicks", 30, "gte", 1))
	w.check("before the evaluation", "s")
	w.pass(time.Second)
	w.evaluate()
	w.check("thirty days", "s", 1, 2, 3, 4, 5)
	if _, err := w.tenant.UpdateSegmentUsers(ctx, "s", command.SegmentAdd, []uint64{9}); err == nil {
		t.Error("users were uploaded to a dynamic segment")
	}
	w.put(store.Segment{ExternalID: "s", Name: "s"})
	w.check("static", "s")
	if _, err := w.tenant.UpdateSegmentUsers(ctx, "s", command.SegmentAdd, []uint64{9}); err != nil {
		t.Error(err)
	}
	w.check("uploaded", "s", 9)
	w.define("s", condition("clicks", 30, "gte", 1))
	w.pass(time.Second)
	w.evaluate()
	w.check("dynamic again", "s", 1, 2, 3, 4, 5)
	if err := w.tenant.DeleteSegment(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	w.check("deleted", "s")
	w.pass(time.Second)
	w.evaluate()
	w.does(managetest.Main, event.Click, 1, 7, 0)
	if all, err := w.Store.DynamicMarketplaces(); err != nil || len(all) > 0 {
		t.Errorf("groups keep something for marketplaces %v (%v)", all, err)
	}
}

// A node that stops after it has stored the definition, and before anything else, leaves the rest to the job of any node. The users who
// were uploaded before are removed then, too: they are not in the segment when it is static again.
func TestUploadedUsersDoNotComeBack(t *testing.T) {
	w := newAudience(t)
	ctx := t.Context()
	w.put(store.Segment{ExternalID: "s", Name: "s"})
	if _, err := w.tenant.UpdateSegmentUsers(ctx, "s", command.SegmentAdd, []uint64{8, 9}); err != nil {
		t.Fatal(err)
	}
	w.FailWritesAfter(1)
	x := store.Segment{ExternalID: "s", Name: "s", Definition: json.RawMessage(`{"behaviors":[]}`)}
	if err := w.tenant.PutSegments(ctx, []store.Segment{x}); err == nil {
		t.Fatal("no write has failed")
	}
	w.FailWrites(false)
	if err := w.tenant.AlignSegments(ctx); err != nil {
		t.Fatal(err)
	}
	w.check("dynamic", "s")
	w.put(store.Segment{ExternalID: "s", Name: "s"})
	w.check("static again", "s")
}

// What another marketplace's user with the same hash does moves nobody, and an erased user leaves.
func TestOnlyOwnEventsCount(t *testing.T) {
	w := newAudience(t)
	main, other := w.tenant, w.Store.Tenant(managetest.Other)
	for _, w.tenant = range []store.Tenant{other, main} {
		w.define("buyers", condition("purchases", 7, "gte", 2))
		w.pass(time.Second)
		w.evaluate()
	}
	w.does(managetest.Other, event.Purchase, 1, 1, 0)
	for _, user := range []uint64{1, 2, 2, 3, 3} {
		w.does(managetest.Main, event.Purchase, 1, user, 0)
	}
	w.pass(time.Second)
	w.evaluate()
	w.evaluateOf(other)
	w.check("bought twice here", "buyers", 2, 3)
	if size, err := other.SegmentSize(t.Context(), "buyers"); err != nil || size != 0 {
		t.Errorf("%d users (%v) have bought twice in the other marketplace", size, err)
	}
	if err := w.tenant.EraseUser(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	w.check("erased", "buyers", 3)
	w.pass(time.Second)
	w.evaluate()
	w.check("still erased", "buyers", 3)
	w.does(managetest.Main, event.Purchase, 1, 2, 0)
	w.pass(time.Second)
	w.evaluate()
	w.check("bought once again", "buyers", 3)
	w.does(managetest.Main, event.Purchase, 1, 2, 0)
	w.pass(time.Second)
	w.evaluate()
	w.check("bought twice again", "buyers", 2, 3)
}

// Parameters name products, vendors, and categories with those below them.
func TestParametersOfSegments(t *testing.T) {
	w := newAudience(t)
	meta := w.Store.Groups.Meta()
	propose(t, w.Environment, command.AppendPutCategories(nil, w.Now().UnixMilli(), &command.PutCategories{
		Marketplace: managetest.Main, Categories: []model.Category{{ID: "all"}, {ID: "shoes", ParentID: "all"}, {ID: "boots", ParentID: "shoes"}},
	}), meta)
	propose(t, w.Environment, command.AppendPutProducts(nil, w.Now().UnixMilli(), &command.PutProducts{
		Marketplace: managetest.Main, Products: []model.Product{{ID: "p1", Vendors: []string{"v1"}, Categories: []string{"boots"}, Active: true}},
	}), meta)
	for entity, id := range map[string]string{"product": "p1", "vendor": "v1", "category": "shoes"} {
		for _, action := range []string{"clicks", "purchases"} {
			b := condition(action, 7, "gte", 1)
			b.Parameters = []behavior.Parameter{{EntityType: entity, EntityList: []string{"none", id}}}
			w.define(action+" of "+entity, b)
		}
	}
	w.pass(time.Second)
	w.evaluate()
	for _, of := range []int{1, 2} {
		w.does(managetest.Main, event.Click, of, uint64(of), 0)
		w.does(managetest.Main, event.Purchase, of, uint64(of+5), 0)
	}
	w.pass(time.Second)
	w.evaluate()
	for _, entity := range []string{"product", "vendor", "category"} {
		w.check(entity, "clicks of "+entity, 1)
		w.check(entity, "purchases of "+entity, 6)
	}
}

// Below the level a dynamic segment is stored and empty. Once all groups have reached it, it is evaluated.
func TestDynamicSegmentsWaitForTheLevel(t *testing.T) {
	w := managetest.NewAt(t, command.LevelDynamicSegments-1)
	tenant := w.Store.Tenant(managetest.Main)
	x := store.Segment{ExternalID: "s", Name: "s", Definition: json.RawMessage(`{"behaviors":[]}`)}
	if err := tenant.PutSegments(t.Context(), []store.Segment{x}); err != nil {
		t.Fatal(err)
	}
	known := func() (n int) {
		_ = w.Store.Groups.Read(w.Store.Groups.Meta(), func(r shard.Reader) error { // The groups of the tests can be read.
			n = len(shard.Queries{R: r}.DynamicSegments(managetest.Main))
			return nil
		})
		return n
	}
	for i, g := range w.Store.Groups.Groups() {
		if err := tenant.AlignSegments(t.Context()); err != nil || known() != 0 {
			t.Fatalf("%d groups have the level: %d segments, %v", i, known(), err)
		}
		propose(t, w, command.AppendSetFeature(nil, w.Now().UnixMilli(), command.SetFeature{Level: command.LevelDynamicSegments}), g)
	}
	if err := tenant.AlignSegments(t.Context()); err != nil || known() != 1 {
		t.Errorf("all groups have the level: %d segments, %v", known(), err)
	}
}

// TestRandomJourneysAgreeWithCounting lets users do random things, in any order and at the edges of windows, while
// definitions change, rounds fail halfway, and users are erased. After each evaluation the members are those whom the second
// implementation, which has a list of everything that was done, counts anew.
func TestRandomJourneysAgreeWithCounting(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { testRandomJourneys(t, rand.New(rand.NewPCG(seed, 18))) })
	}
}

func testRandomJourneys(t *testing.T, random *rand.Rand) {
	w := newAudience(t)
	segments := map[string]behavior.Definition{}
	names := []string{"a", "b", "c"}
	segments["always"] = w.define("always", condition("purchases", 1, "eq", 99)) // So that purchases are stored from now on.
	w.pass(time.Second)
	w.evaluate()
	for n := range 120 {
		switch user := 1 + random.Uint64N(5); random.IntN(12) {
		case 0:
			id := names[random.IntN(len(names))]
			segments[id] = w.define(id, randomBehaviors(random)...)
		case 1:
			if err := w.tenant.EraseUser(t.Context(), user); err != nil {
				t.Fatal(err)
			}
			w.did = slices.DeleteFunc(w.did, func(x done) bool { return x.user == user })
		case 2:
			w.FailWritesAfter(random.Int64N(4))
			_, _ = w.tenant.EvaluateSegments(t.Context()) // It may fail after any of its writes.
			w.FailWrites(false)
		case 3, 4:
			w.pass(time.Duration(random.IntN(3)) * aDay)
		default:
			ago := time.Duration(random.IntN(4)) * aDay
			w.does(managetest.Main, event.Kind(random.IntN(3)), random.IntN(6), user, ago)
			if random.IntN(2) == 0 {
				continue
			}
		}
		w.pass(time.Second)
		w.evaluate()
		asOf := w.Now().UnixMilli() - 1
		for id, d := range segments {
			if got, want := w.members(id), w.counted(&d, asOf); !slices.Equal(got, want) {
				t.Fatalf("step %d: %v are in %s, want %v by %+v", n, got, id, want, d)
			}
		}
	}
}

func randomBehaviors(random *rand.Rand) (all []behavior.Behavior) {
	for range 1 + random.IntN(2) {
		b := condition([]string{"impressions", "clicks", "purchases"}[random.IntN(3)], 1+random.IntN(5),
			[]string{"gt", "gte", "lt", "lte", "eq"}[random.IntN(5)], random.IntN(3))
		b.Logic = []string{"and", "or"}[random.IntN(2)]
		if random.IntN(2) == 0 {
			b.Parameters = []behavior.Parameter{{EntityType: "vendor", EntityList: []string{"v0", "v1", "v2"}}}
		}
		all = append(all, b)
	}
	return all
}

// counted lists the users who belong to a segment as of a time, from everything that was done.
func (w *audience) counted(d *behavior.Definition, asOf int64) (users []uint64) {
	for user := uint64(1); user <= 9; user++ {
		known, result := false, false
		for i, b := range d.Behaviors {
			n := 0
			for _, x := range w.did {
				if x.user != user {
					continue
				}
				known = known || x.Millis > asOf-30*aDay.Milliseconds()
				of := len(b.Parameters) == 0 || slices.Contains(b.Parameters[0].EntityList, x.Subjects[0].Vendors[0])
				if of && x.Kind.String() == b.ActionType && x.Millis > asOf-int64(b.TimeWindow.Value)*aDay.Milliseconds() {
					n++
				}
			}
			v := b.Frequency.Value
			holds := map[string]bool{"gt": n > v, "gte": n >= v, "lt": n < v, "lte": n <= v, "eq": n == v}[b.Frequency.Operator]
			switch {
			case i == 0:
				result = holds
			case b.Logic == "or":
				result = result || holds
			default:
				result = result && holds
			}
		}
		if known && result {
			users = append(users, user)
		}
	}
	return users
}
