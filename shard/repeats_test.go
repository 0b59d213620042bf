package shard_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// purchaseAt is a purchase without a token, as a client stamps it at a time.
func purchaseAt(id byte, at int64) command.EventRecord {
	return command.EventRecord{
		Key: [16]byte{id}, Kind: event.Purchase, OccurredMillis: at, Bucket: event.BucketOf(at), Cell: event.BucketOf(at) * 4,
		Items: []command.PurchaseItem{{ProductID: []byte("p1"), Quantity: 1, UnitPrice: 10_000_000}},
	}
}

// A client that retries may stamp the event again. Its id is recognised for 72 hours after the first report, whatever
// time the first and the second version name.
func TestAnEventIDIsKnownFor72Hours(t *testing.T) {
	for name, firstAge := range map[string]int64{"of now": 0, "of two hours ago": 2, "of the day before": 30, "of three weeks ago": 21 * 24} {
		t.Run(name, func(t *testing.T) {
			r := open(t, shardtest.NewKV())
			r.Do(setFeature(command.LevelNewest))
			now := int64(benchNow)
			first := purchaseAt(1, now-firstAge*hour)
			expect(t, "first", outcomes(report(t, r, now, first)), "counted:0 ")
			for _, later := range []int64{0, 1, 2, 26, 49, 71, 72} {
				at := now + later*hour
				for _, age := range []int64{1, 5, 29, 40} {
					again := purchaseAt(1, at-age*hour)
					if again.Bucket == first.Bucket {
						continue
					}
					expect(t, "a repeat", outcomes(report(t, r, at, again)), "duplicate:0 ")
				}
				r = open(t, r.KV) // The filters are built again.
			}
			at := now + (72+5+1)*hour
			expect(t, "a week later it is another event", outcomes(report(t, r, at, purchaseAt(1, at))), "counted:0 ")
			expect(t, "another id", outcomes(report(t, r, at, purchaseAt(2, at))), "counted:0 ")
		})
	}
}

// Below the level an id with another hour counts again, as it did when the command was committed.
func TestEventIDsBelowTheirLevel(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(setFeature(command.LevelEventIDs - 1))
	expect(t, "first", outcomes(report(t, r, benchNow, purchaseAt(1, benchNow))), "counted:0 ")
	expect(t, "again", outcomes(report(t, r, benchNow, purchaseAt(1, benchNow-2*hour))), "counted:0 ")
	r.Do(setFeature(command.LevelEventIDs))
	expect(t, "at the level", outcomes(report(t, r, benchNow, purchaseAt(1, benchNow-3*hour))), "duplicate:0 ")
}

// Keys of reports are dropped after their time, so that they do not collect.
func TestReportsAreForgotten(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(setFeature(command.LevelNewest))
	report(t, r, benchNow, purchaseAt(1, benchNow-10*hour)) // Not near, so it has two keys.
	before := r.KV.Len()
	r.Do(command.AppendAdvance(nil, benchNow+73*hour, &command.Advance{}))
	expect(t, "records after 73 hours", r.KV.Len(), before-2) // The key and its bucket.
	expect(t, "digest after a restart", open(t, r.KV).Machine.Digest(), r.Machine.Digest())
}

// A filter contains every key that was inserted, in all of its layers, says of hardly any other that it does, and of a new one that
// it is, unless it seemed contained.
func TestKeyFilter(t *testing.T) {
	const keys = 300_000
	random := rand.New(rand.NewPCG(1, 2))
	next := func() (key [16]byte) {
		binary.LittleEndian.PutUint64(key[:], random.Uint64())
		binary.LittleEndian.PutUint64(key[8:], random.Uint64())
		key[0] = 7 // All keys of a group begin alike.
		return key
	}
	var f shard.KeyFilter
	added := make([][16]byte, keys)
	for i := range added {
		added[i] = next()
		if seems := f.MayContain(&added[i]); f.Insert(&added[i]) == seems {
			t.Fatalf("key %d seems contained: %t, and so does its insertion", i, !seems)
		}
	}
	for i := range added {
		if !f.MayContain(&added[i]) || f.Insert(&added[i]) {
			t.Fatalf("key %d is missing", i)
		}
	}
	wrong := 0
	for range keys {
		if key := next(); f.MayContain(&key) {
			wrong++
		}
	}
	if wrong > keys/1000 {
		t.Errorf("%d of %d absent keys seem contained", wrong, keys)
	}
	t.Logf("%d of %d absent keys seem contained, in %d layers", wrong, keys, f.Layers())
}

// Repeats of a key that is contained make a filter no larger.
func TestRepeatsDoNotGrowAFilter(t *testing.T) {
	var f shard.KeyFilter
	key := [16]byte{7}
	if !f.Insert(&key) {
		t.Error("a new key seems contained")
	}
	for range 100_000 {
		if f.Insert(&key) {
			t.Fatal("a repeat seems new")
		}
	}
	expect(t, "layers", f.Layers(), 1)
}
