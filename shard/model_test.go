package shard_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gavel-ads/gavel/shard/shardtest"
)

// TestModel applies random commands to a naive model and to two replicas. The first replica commits every command on
// its own. The second commits in batches of random size, is restarted, and is replaced by a new node with a snapshot.
// Answers must equal those of the model. After every command the first replica's state must equal the model's, and
// whenever the second replica commits, both must have the same bytes and the same digest.
func TestModel(t *testing.T) {
	for round := range modelRounds { // The default of package rapid, 100 sequences, takes only a tenth of a second.
		if !t.Run(fmt.Sprint("round=", round), func(t *testing.T) { testModel(t, false, (*shardtest.Generator).Step) }) {
			break // Package rapid has already minimised a failing sequence, which takes half a minute.
		}
	}
}

// TestModelOfMoney is TestModel with the commands that move money, on the newest level.
func TestModelOfMoney(t *testing.T) {
	for round := range modelRounds {
		if !t.Run(fmt.Sprint("round=", round), func(t *testing.T) { testModel(t, true, (*shardtest.Generator).MoneyStep) }) {
			break
		}
	}
}

// TestModelOfUsers is TestModel with the commands about users, on the newest level.
func TestModelOfUsers(t *testing.T) {
	for round := range modelRounds / 3 {
		if !t.Run(fmt.Sprint("round=", round), func(t *testing.T) { testModel(t, true, (*shardtest.Generator).UserStep) }) {
			break
		}
	}
}

// TestModelOfHoldouts is TestModel with the commands about holdouts, on the newest level.
func TestModelOfHoldouts(t *testing.T) {
	for round := range modelRounds / 3 {
		if !t.Run(fmt.Sprint("round=", round), func(t *testing.T) { testModel(t, true, (*shardtest.Generator).HoldoutStep) }) {
			break
		}
	}
}

// TestModelOfExperiments is TestModel with the events of users of experiments, on the newest level. Together the rounds must
// have counted some with and some without a charge, and some in two experiments on one day.
func TestModelOfExperiments(t *testing.T) {
	charged, free, replaced := 0, 0, 0
	testModelUntil(t, modelRounds/3, func() bool { return charged > 0 && free > 0 && replaced > 0 }, func(g *shardtest.Generator) shardtest.Step {
		withCharge, without := g.Model.ParticipantDays()
		charged, free, replaced = charged+withCharge, free+without, replaced+g.Model.Replaced
		g.Model.Replaced = 0
		return g.ExperimentStep()
	})
	if charged == 0 || free == 0 || replaced == 0 {
		t.Errorf("users of experiments that were compared: %d with and %d without a charge, and %d of two on one day", charged, free, replaced)
	}
}

// TestModelOfEvents is TestModel with events that marketplaces keep, on the newest level. It must have kept some days, reached
// the limit of one, and dropped some.
func TestModelOfEvents(t *testing.T) {
	kept, full, dropped := 0, 0, 0
	testModelUntil(t, 1, func() bool { return kept > 0 && full > 0 && dropped > 0 }, func(g *shardtest.Generator) shardtest.Step {
		days, fullDays, droppedDays := g.Model.KeptEvents()
		kept, full, dropped = kept+days, full+fullDays, dropped+droppedDays
		return g.KeptEventStep()
	})
	if kept == 0 || full == 0 || dropped == 0 {
		t.Errorf("%d days of kept events were compared, %d full ones, and %d dropped ones", kept, full, dropped)
	}
}

// TestModelOfClickRules is TestModel with clicks and the rules by which they are invalid, on the newest level.
func TestModelOfClickRules(t *testing.T) {
	for round := range modelRounds / 3 {
		if !t.Run(fmt.Sprint("round=", round), func(t *testing.T) { testModel(t, true, (*shardtest.Generator).ClickStep) }) {
			break
		}
	}
}

const (
	modelRounds    = 10
	modelRoundsMax = 60 // Three rounds miss a rare case once in 60 times, so 60 rounds miss it only if it cannot happen any more.
)

// testModelUntil is testModel in rounds, at least as many as given and until what the test must compare was compared.
func testModelUntil(t *testing.T, rounds int, compared func() bool, next func(*shardtest.Generator) shardtest.Step) {
	for round := 0; round < rounds || round < modelRoundsMax && !compared(); round++ {
		if !t.Run(fmt.Sprint("round=", round), func(t *testing.T) { testModel(t, true, next) }) {
			return
		}
	}
}

func testModel(t *testing.T, newest bool, next func(*shardtest.Generator) shardtest.Step) {
	rapid.Check(t, func(t *rapid.T) {
		g := shardtest.NewGenerator(func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(t, what) })
		g.Model.UnknownMax, g.Model.ClickAdsMax, g.Model.TouchesMax, g.Model.LinksMax = unknownMax, clickAdsMax, touchesMax, linksMax
		g.Model.EventsMax = eventsMax
		g.Model.PurchaseAdsMax, g.Model.EnrolmentsMax, g.Model.ParticipantsMax = purchaseAdsMax, enrolmentsMax, participantsMax
		single := openFew(t, shardtest.NewKV())
		batched := openFew(t, shardtest.NewKV())
		if newest {
			step := g.Newest()
			check(t, step.Check(single.Do(step.Command)))
			check(t, step.Check(batched.Do(step.Command)))
		}
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			if rapid.IntRange(0, 40).Draw(t, "nobody asks for anything") == 0 {
				ticks := rapid.IntRange(1, 300).Draw(t, "ticks")
				cmd := g.Pause(ticks)
				for range ticks {
					single.Apply(cmd)
					batched.Apply(cmd)
				}
				single.Commit()
			}
			step := next(g)
			check(t, step.Check(single.Do(step.Command)))
			check(t, step.Check(batched.Apply(step.Command)))
			check(t, g.Model.Compare(single))
			if rapid.IntRange(0, 3).Draw(t, "commit") > 0 {
				continue
			}
			batched.Commit()
			if !batched.KV.Equal(single.KV) || batched.Machine.Digest() != single.Machine.Digest() {
				t.Fatalf("after %s the replicas differ: digests %016x and %016x, %d and %d records", step.Name,
					single.Machine.Digest(), batched.Machine.Digest(), single.KV.Len(), batched.KV.Len())
			}
			switch rapid.IntRange(0, 5).Draw(t, "then") {
			case 0:
				batched = openFew(t, batched.KV) // A restart.
			case 1:
				batched = openFew(t, single.KV.Copy()) // A snapshot of the first replica, installed on an empty node.
			case 2:
				check(t, batched.Machine.Load(batched.KV)) // A snapshot installed under a running machine.
			}
			check(t, g.Model.Compare(batched))
			if !slices.Equal(batched.Feed.Lines(), single.Feed.Lines()) {
				t.Fatalf("the auctions of the replicas were told different things:\n%v\n%v", batched.Feed.Lines(), single.Feed.Lines())
			}
		}
	})
}

// unknownMax is UnknownProductsMax in these tests.
const unknownMax = 2

// clickAdsMax is ClickAdsMax in these tests.
const clickAdsMax = 3

// purchaseAdsMax is PurchaseAdsMax in these tests.
const purchaseAdsMax = 2

// touchesMax is TouchesMax in these tests.
const touchesMax = 3

// linksMax is LinksMax in these tests.
const linksMax = 2

// enrolmentsMax is EnrolmentsMax in these tests.
const enrolmentsMax = 4

// participantsMax is ParticipantsMax in these tests.
const participantsMax = 5

// eventsMax is EventsMax in these tests.
const eventsMax = 4

// openFew is open with unknownMax, clickAdsMax, purchaseAdsMax, touchesMax, enrolmentsMax, participantsMax, eventsMax and linksMax.
func openFew(t testingFataler, kv *shardtest.KV) *shardtest.Replica {
	t.Helper()
	r := open(t, kv)
	r.Machine.LimitUnknownProducts(unknownMax)
	r.Machine.LimitClickAds(clickAdsMax)
	r.Machine.LimitPurchaseAds(purchaseAdsMax)
	r.Machine.LimitTouches(touchesMax)
	r.Machine.LimitEnrolments(enrolmentsMax)
	r.Machine.LimitParticipants(participantsMax)
	r.Machine.LimitEvents(eventsMax)
	r.Machine.LimitLinks(linksMax)
	return r
}

type testingFataler interface {
	Helper()
	Fatal(...any)
}

func open(t testingFataler, kv *shardtest.KV) *shardtest.Replica {
	t.Helper()
	r, err := shardtest.NewReplica(1, true, kv)
	check(t, err)
	return r
}

func check(t testingFataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
