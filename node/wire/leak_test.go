package wire

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/event"
)

// A pooled element that is not reset keeps values of an earlier request, perhaps of another tenant. The tests of this file
// check that a pooled request is equal to a new one after the same body, whatever was parsed into it before.

func TestNoRequestLeaksIntoTheNext(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var pooled auction.Request
	var f Fault
	rich := map[string][]byte{}
	for name, p := range parsers {
		rich[name] = readGolden(t, p.files...)[0]
	}
	for name, p := range parsers {
		list := readGolden(t, p.files...)
		for round := range 3 * len(list) {
			for before := range parsers {
				pooled.Body, pooled.Seed = rich[before], 1 // Tenant 1.
				parsers[before].parse(&pooled, &f)
			}
			poor := list[rng.IntN(len(list))]
			fresh := auction.Request{Body: poor, Seed: 2} // Tenant 2.
			want := p.parse(&fresh, &f)
			pooled.Body, pooled.Seed = poor, 2
			if got := p.parse(&pooled, &f); got != want {
				t.Fatalf("%s: %.200q: %s, pooled %s", name, poor, want, got)
			}
			if want == apierr.OK && !equalValues(reflect.ValueOf(fresh), reflect.ValueOf(pooled)) {
				t.Fatalf("%s, round %d: %.200q\nfresh  %+v\npooled %+v", name, round, poor, fresh.Auctions, pooled.Auctions)
			}
		}
	}
}

// equalValues compares as reflect.DeepEqual does, but holds a nil slice equal to an empty one: capacity is what pooling keeps.
func equalValues(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !equalValues(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		for i := range a.NumField() {
			if !equalValues(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	default:
		return a.Equal(b)
	}
}

// TestEveryFieldIsReset finds a field that someone adds to Auction and forgets in reset.
func TestEveryFieldIsReset(t *testing.T) {
	var a auction.Auction
	fill(reflect.ValueOf(&a).Elem())
	reset(&a)
	if !equalValues(reflect.ValueOf(a), reflect.ValueOf(auction.Auction{})) {
		t.Errorf("after reset: %+v", a)
	}
	if cap(a.Products) == 0 || cap(a.Category.IDs) == 0 || cap(a.External) == 0 {
		t.Error("reset does not keep the capacity of the slices")
	}
}

// fill sets every field of a value to something.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(3)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field)
		}
	default:
		panic(fmt.Sprintf("fill does not know %s", v.Kind()))
	}
}

func TestNoBatchLeaksIntoTheNext(t *testing.T) {
	list := readGolden(t, "events.txt", "events-time.txt")
	var pooled event.Batch
	var f Fault
	for _, poor := range slices.Backward(list) {
		pooled.Body = list[0]
		ParseEvents(&pooled, goldenNow, &f)
		fresh := event.Batch{Body: poor}
		want := ParseEvents(&fresh, goldenNow, &f)
		pooled.Body = poor
		if got := ParseEvents(&pooled, goldenNow, &f); got != want {
			t.Fatalf("%.200q: %s, pooled %s", poor, want, got)
		}
		if want == apierr.OK && !equalValues(reflect.ValueOf(fresh), reflect.ValueOf(pooled)) {
			t.Fatalf("%.200q\nfresh  %+v\npooled %+v", poor, fresh.Events, pooled.Events)
		}
	}
}
