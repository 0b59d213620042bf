package wire

import (
	"bytes"
	stdjson "encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/event"
)

// randomValues are the values from which random bodies are made. A value that is valid for one member is invalid for
// another.
var randomValues = []string{
	`null`, `""`, `" "`, `"a"`, `"home"`, `"listings"`, `"banners"`, `"mobile"`, `"or"`, `"CPC"`, `"product"`, `"k:v"`, `"Äß\u017f \ud83d\ude00"`,
	`"2026-03-01T10:00:00.5+0100"`, `"2026-02-29T10:00:00Z"`, `0`, `1`, `8`, `-1`, `2.5`, `0.5`, `1e-7`, `12.3456785`, `99999999999999999999`,
	`true`, `[]`, `{}`, `["a"]`, `["a","b"]`, `[["a"],["b","c"]]`, `[0.5,1]`, `{"id":"x"}`, `{"type":"vendor","id":"v"}`, `{"location":"Paris"}`,
	`[{"productId":"p","unitPrice":3.999}]`, `{"operation":"or","attributes":["a:b"]}`,
	`"flights"`, `"hotels"`, `"solo"`, `"2026-03-01"`, `[{"id":"p","variationId":"v"}]`, `{"singleCategory":{"id":"c"}}`, `{"site":"s"}`, `{"ids":["p"]}`,
}

// memberNames are the member names of the objects that auctions consist of.
var memberNames = [][]string{auctionMembers, brandMembers, triggerMembers, travelMembers, contextMembers, travelProductMembers, travelCategoryMembers}

// mutate changes one or a few places of a tree.
func mutate(rng *rand.Rand, v any) any {
	randomValue := func() any {
		value, err := decodeStd([]byte(randomValues[rng.IntN(len(randomValues))]))
		if err != nil {
			panic(err)
		}
		return value
	}
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			return v
		}
		names := slices.Sorted(maps.Keys(v))
		name := names[rng.IntN(len(names))]
		switch rng.IntN(8) {
		case 0:
			delete(v, name)
		case 1:
			v[name] = randomValue()
		case 2:
			names := memberNames[rng.IntN(len(memberNames))]
			v[names[rng.IntN(len(names))]] = randomValue()
		case 3:
			v[eventMembers[rng.IntN(len(eventMembers))]] = randomValue()
		default:
			v[name] = mutate(rng, v[name])
		}
		return v
	case []any:
		if len(v) == 0 {
			return append(v, randomValue())
		}
		i := rng.IntN(len(v))
		if rng.IntN(8) == 0 {
			return slices.Delete(v, i, i+1)
		}
		v[i] = mutate(rng, v[i])
		return v
	}
	return randomValue()
}

// randomBodies calls check with random variations of the bodies of the golden files that are accepted.
func randomBodies(t *testing.T, rounds int, check func(body []byte) apierr.Code, files ...string) {
	var good [][]byte
	for _, body := range readGolden(t, files...) {
		if len(body) < 2_000 && check(body) == apierr.OK {
			good = append(good, body)
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	accepted := 0
	for range rounds {
		v, err := decodeStd(good[rng.IntN(len(good))])
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + rng.IntN(3) {
			v = mutate(rng, v)
		}
		body, err := stdjson.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if rng.IntN(4) == 0 {
			var spaced bytes.Buffer
			if err := stdjson.Indent(&spaced, body, "\r", "\t "); err != nil {
				t.Fatal(err)
			}
			body = spaced.Bytes()
		}
		if check(body) == apierr.OK {
			accepted++
		}
	}
	if accepted < rounds/10 || accepted > rounds*9/10 {
		t.Errorf("%d of %d bodies accepted, want between 10%% and 90%%", accepted, rounds)
	}
}

func TestRandomAuctions(t *testing.T) {
	var req auction.Request // It is reused, so that a value left by an earlier body is found too.
	var fault Fault
	for name, p := range parsers {
		t.Run(name, func(t *testing.T) {
			randomBodies(t, 20_000, func(body []byte) apierr.Code {
				req.Body, req.Seed = body, 7
				code := p.parse(&req, &fault)
				checkSyntax(t, body, code)
				if code == apierr.OK {
					if got, want := describeRequest(&req), modelRequest(tree(body, decodeStd), p.model); sameMetadata(t, got) != want {
						t.Fatalf("%s\n got%s\nwant%s", body, got, want)
					}
				} else {
					checkFault(t, &fault, code)
				}
				return code
			}, p.files...)
		})
	}
}

func TestRandomEvents(t *testing.T) {
	var batch event.Batch
	var fault Fault
	randomBodies(t, 20_000, func(body []byte) apierr.Code {
		batch.Body = body
		code := ParseEvents(&batch, goldenNow, &fault)
		checkSyntax(t, body, code)
		if code == apierr.OK {
			if got, want := describeBatch(&batch), modelBatch(tree(body, decodeStd)); got != want {
				t.Fatalf("%s\n got%s\nwant%s", body, got, want)
			}
		} else {
			checkFault(t, &fault, code)
		}
		return code
	}, "events.txt", "events-time.txt")
}
