package wire

import (
	"testing"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/event"
)

// TestFaultFollows checks that Follows reports whether an event's token comes before the fault in the order of checks.
func TestFaultFollows(t *testing.T) {
	const good, token = `"id":"1","occurredAt":"2026-01-01T00:00:00Z","opaqueUserId":"u"`, `"resolvedBidId":"t"`
	for body, want := range map[string]bool{
		`{"clicks":[{` + good + `,` + token + `},{}]}`:                              true,
		`{"pageviews":[{}],"clicks":[{` + good + `,` + token + `}]}`:                true,
		`{"clicks":[{` + good + `,` + token + `,"deviceType":"tv"}]}`:               true,
		`{"clicks":[{"id":"1","occurredAt":"2026-01-01T00:00:00Z",` + token + `}]}`: false,
		`{"clicks":[{` + good + `,` + token + `}],"impressions":[{}]}`:              false,
		`{"clicks":[{` + good + `,` + token + `}],"Purchases":[]}`:                  false,
		`{"clicks":[{` + good + `,` + token + `}]`:                                  false,
	} {
		b, f := event.Batch{Body: []byte(body)}, Fault{}
		if ParseEvents(&b, 1<<42, &f) == apierr.OK {
			t.Fatalf("%s is accepted", body)
		}
		for i := range b.Events {
			if e := &b.Events[i]; len(e.ResolvedBidID) > 0 && f.Follows(e) != want {
				t.Errorf("%s: Follows is %t", body, !want)
			}
		}
	}
}
