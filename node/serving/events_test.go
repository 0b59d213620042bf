package serving_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/serving/servingtest"
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

const occurred = `"occurredAt":"2026-09-21T13:00:00Z","opaqueUserId":"u1"`

var allGroups = map[ids.Group]bool{1: true, 2: true, 3: true, 4: true}

func pageview(id string) string {
	return fmt.Sprintf(`{"pageviews":[{"id":%q,%s,"page":{"type":"home"}}]}`, id, occurred)
}

// token returns the token that an auction would have given to a winner.
func token(node *servingtest.Node, p bidid.Payload) string {
	p.Node, p.Epoch, p.Weight = 1, 1, 65535
	if p.Marketplace == 0 {
		p.Marketplace = servingtest.Marketplace
	}
	if p.IssuedMillis == 0 {
		p.IssuedMillis = servingtest.NowMillis - 1000
	}
	p.Rank = max(p.Rank, 1)
	signer := bidid.NewSigner(node.Keyring)
	signer.Begin(&p)
	var text [bidid.TextLen]byte
	signer.Mint(&text, &p)
	return string(text[:])
}

func scrape(t *testing.T, node *servingtest.Node) string {
	t.Helper()
	w := httptest.NewRecorder()
	node.Metrics.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func TestRecordsOfAReport(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10, Groups: 4})
	won := bidid.Payload{Charge: model.CPC, Shard: 6, PlacementIndex: 3, Campaign: 70, Bid: 71, Price: 250_000}
	externalBid := bidid.Payload{External: true, Shard: 9, ProductHash: 1}
	body := fmt.Sprintf(`{
		"impressions":[{"id":"1",%[1]s,"resolvedBidId":%[2]q},{"id":"2",%[1]s,"entity":{"type":"product","id":"p-9"},"resolvedBidId":""}],
		"clicks":[{"id":"1",%[1]s,"resolvedBidId":%[2]q},{"id":"2",%[1]s,"externalCampaignId":%[3]q},
			{"id":"3",%[1]s,"resolvedBidId":%[4]q},{"id":"4",%[1]s,"externalCampaignId":"unknown"}],
		"purchases":[{"id":"1",%[1]s,"items":[{"productId":"a","quantity":2,"unitPrice":1.5},{"productId":"b"},{"productId":"c","unitPrice":0}]}],
		"pageviews":[{"id":"1",%[1]s,"page":{"type":"home"}}]}`,
		occurred, token(node, won), servingtest.ExternalID, token(node, externalBid))
	a := ask(node.Core, "POST", "/v2/events", node.AuctionKey, body)
	if a.status != 200 || a.body != "{}" {
		t.Fatalf("%d %s", a.status, a.body)
	}

	find := func(k event.Kind, match func(*command.EventRecord) bool) (*command.EventRecord, ids.Group) {
		t.Helper()
		for _, s := range node.Proposer.Committed {
			if s.Events.Marketplace != servingtest.Marketplace {
				t.Errorf("a share for marketplace %d", s.Events.Marketplace)
			}
			for i := range s.Events.Records {
				if r := &s.Events.Records[i]; r.Kind == k && match(r) {
					return r, s.Group
				}
			}
		}
		t.Fatalf("no such record among %v", k)
		return nil, 0
	}
	impression, group := find(event.Impression, func(r *command.EventRecord) bool { return r.Campaign == 70 })
	if impression.Bid != 71 || impression.Price != 250_000 || impression.Charge != model.CPC || impression.Place.Placement() != 3 || group != 1+6%4 {
		t.Errorf("impression with a token in group %d: %+v", group, impression)
	}
	click, group := find(event.Click, func(r *command.EventRecord) bool { return r.Campaign == 70 })
	if click.ChargeKey == impression.ChargeKey || click.ChargeKey == ([16]byte{}) || click.Key == impression.Key || group != 1+6%4 {
		t.Errorf("click and impression of one token and one id share a key: %+v %+v", click, impression)
	}
	if click.UserHash != impression.UserHash || click.UserHash == 0 {
		t.Error("one user has two hashes")
	}
	if click.Bucket != (servingtest.NowMillis-1000)/3_600_000 {
		t.Errorf("bucket %d is not the hour of the auction", click.Bucket)
	}
	external, group := find(event.Click, func(r *command.EventRecord) bool { return !r.ExternalCampaign.IsZero() })
	if external.ExternalCampaign != servingtest.ExternalCampaign || external.Charge != model.ChargeNone ||
		group != ids.Group(1+int(external.Key[0])%4) {
		t.Errorf("click with an external id in group %d: %+v", group, external)
	}
	if r, group := find(event.Click, func(r *command.EventRecord) bool { return r.ChargeKey != click.ChargeKey && r.ChargeKey != [16]byte{} }); r.Charge != model.ChargeNone || r.Campaign != 0 || group != 1+9%4 {
		t.Errorf("click on another source's bid in group %d: %+v", group, r)
	}
	entity, group := find(event.Impression, func(r *command.EventRecord) bool { return r.EntityType == event.ProductEntity })
	if string(entity.Entity) != "p-9" || entity.ChargeKey != ([16]byte{}) || group != ids.Group(1+int(entity.Key[0])%4) {
		t.Errorf("impression without a token in group %d: %+v", group, entity)
	}
	purchase, _ := find(event.Purchase, func(*command.EventRecord) bool { return true })
	if len(purchase.Items) != 3 || purchase.Items[0].UnitPrice != 1_500_000 || purchase.Items[0].Quantity != 2 ||
		purchase.Items[1].UnitPrice != servingtest.CatalogPrice || purchase.Items[1].Quantity != 1 || purchase.Items[2].UnitPrice != 0 {
		t.Errorf("items: %+v", purchase.Items)
	}
	find(event.Pageview, func(*command.EventRecord) bool { return true })
	if n := len(node.Proposer.Records()); n != 8 {
		t.Errorf("%d records of 8 events", n)
	}
}

// TestAnExternalCampaignDoesNotChooseTheGroup checks that a repeated event goes to the group of its first version also when
// the campaign with the event's externalCampaignId was created in between.
func TestAnExternalCampaignDoesNotChooseTheGroup(t *testing.T) {
	for i := range 20 {
		groups := map[ids.Group]bool{}
		for _, campaign := range []string{"unknown", servingtest.ExternalID} {
			node := servingtest.New(servingtest.Spec{Bids: 10, Groups: 4})
			body := fmt.Sprintf(`{"clicks":[{"id":"%d",%s,"externalCampaignId":%q}]}`, i, occurred, campaign)
			if a := ask(node.Core, "POST", "/v2/events", node.AuctionKey, body); a.status != 200 {
				t.Fatalf("%d %s", a.status, a.body)
			}
			groups[node.Proposer.Committed[0].Group] = true
		}
		if len(groups) != 1 {
			t.Errorf("event %d went to groups %v", i, groups)
		}
	}
}

// TestOneCommandPerGroup checks that a group gets one command for all events of a request.
func TestOneCommandPerGroup(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10, Groups: 4})
	var views []string
	for i := range 50 {
		views = append(views, fmt.Sprintf(`{"id":"%d",%s,"page":{"type":"home"}}`, i, occurred))
	}
	body := `{"pageviews":[` + strings.Join(views, ",") + `]}`
	if a := ask(node.Core, "POST", "/v2/events", node.AuctionKey, body); a.status != 200 {
		t.Fatal(a.body)
	}
	if n := len(node.Proposer.Committed); n != 4 {
		t.Errorf("%d commands for 50 events in 4 groups", n)
	}
}

func TestForgedTokensLeaveNoTrace(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10})
	good := token(node, bidid.Payload{Charge: model.CPC, Campaign: 1, Bid: 1, Price: 1})
	last := good[len(good)-1]
	for name, forged := range map[string]string{
		"nonsense":               "nonsense",
		"damaged":                good[:40] + "A" + good[41:79] + string(last^1),
		"cut":                    good[:79],
		"longer":                 good + "A",
		"of another marketplace": token(node, bidid.Payload{Marketplace: servingtest.Suspended, Charge: model.CPC, Campaign: 1, Bid: 1, Price: 1}),
		"from the future":        token(node, bidid.Payload{IssuedMillis: servingtest.NowMillis + 31_000, Charge: model.CPC, Campaign: 1, Bid: 1, Price: 1}),
		"huge":                   strings.Repeat("A", 600),
	} {
		body := fmt.Sprintf(`{"impressions":[{"id":"1",%[1]s,"resolvedBidId":%[2]q}],"clicks":[{"id":"1",%[1]s},{"id":"2",%[1]s,"resolvedBidId":%[3]q}]}`,
			occurred, good, forged)
		a := ask(node.Core, "POST", "/v2/events", node.AuctionKey, body)
		if a.status != 400 || a.errCode(t) != "invalid_resolved_bid_id" || !strings.Contains(a.body, "clicks[1].resolvedBidId") {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if n := len(node.Proposer.Committed); n != 0 {
		t.Errorf("%d commands were proposed", n)
	}
}

func TestAnyGroupThatFailsIsA503(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10, Groups: 4})
	won := func(shard ids.Shard) string {
		return token(node, bidid.Payload{Charge: model.CPC, Shard: shard, Campaign: 1, Bid: 1, Price: 1})
	}
	body := fmt.Sprintf(`{"clicks":[{"id":"1",%[1]s,"resolvedBidId":%[2]q},{"id":"2",%[1]s,"resolvedBidId":%[3]q}]}`, occurred, won(0), won(1))
	node.Proposer.Fail = map[ids.Group]bool{2: true}
	a := ask(node.Core, "POST", "/v2/events", node.AuctionKey, body)
	if retry := a.fields["Retry-After"]; a.status != 503 || a.errCode(t) != "service_unavailable" || len(retry) != 1 || retry < "1" || retry > "3" {
		t.Fatalf("%d %s, Retry-After %q", a.status, a.body, a.fields["Retry-After"])
	}

	// The client repeats the body: what was committed already is a duplicate, the rest is recorded, and all is well.
	node.Proposer.Fail = nil
	a = ask(node.Core, "POST", "/v2/events?detail=true", node.AuctionKey, body)
	const want = `{"impressions":[],"clicks":[{"id":"1","status":"duplicate"},{"id":"2","status":"recorded"}],"purchases":[],"pageviews":[]}`
	if a.status != 200 || a.body != want {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestDetail(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10, Groups: 4})
	node.Proposer.Outcome = func(r *command.EventRecord) command.EventResult {
		if r.Kind == event.Click {
			return command.EventResult{Outcome: command.TooOld}
		}
		return command.EventResult{Outcome: command.TooLate}
	}
	body := fmt.Sprintf(`{"pageviews":[{"id":"a\"\\\u0001ü",%[1]s,"page":{"type":"home"}},{"id":"b",%[1]s,"page":{"type":"home"}},{"id":"b",%[1]s,"page":{"type":"home"}}],
		"clicks":[{"id":"b",%[1]s}],"purchases":null}`, occurred)
	a := ask(node.Core, "POST", "/v2/events?x=y&detail=true", node.AuctionKey, body)
	const want = `{"impressions":[],"clicks":[{"id":"b","status":"late"}],"purchases":[],"pageviews":` +
		`[{"id":"a\"\\\u0001ü","status":"recorded"},{"id":"b","status":"recorded"},{"id":"b","status":"duplicate"}]}`
	if a.status != 200 || a.body != want {
		t.Errorf("got  %s\nwant %s", a.body, want)
	}
	for _, target := range []string{"/v2/events", "/v2/events?detail=false", "/v2/events?detail", "/v2/events?xdetail=true"} {
		if a = ask(node.Core, "POST", target, node.AuctionKey, body); a.body != "{}" {
			t.Errorf("%s: %s", target, a.body)
		}
	}
}

func TestEmptyArraysNeedNoCommit(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10})
	node.Proposer.Fail = allGroups
	if a := ask(node.Core, "POST", "/v2/events", node.AuctionKey, `{"clicks":[],"pageviews":null}`); a.status != 200 || a.body != "{}" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestUnreadableAnswerIsA500 checks that events are not acknowledged if the state machine's answer does not match the
// command, which is a defect.
func TestUnreadableAnswerIsA500(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10})
	for name, reply := range map[string][]byte{
		"empty": nil, "refused": {byte(command.Invalid)}, "no results": command.AppendEventResults(nil, nil),
	} {
		deps := node.Deps
		deps.Proposer = fixedReply(reply)
		a := ask(serving.New(deps), "POST", "/v2/events", node.AuctionKey, pageview("1"))
		if a.status != 500 || a.errCode(t) != "internal_server_error" {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
}

// TestWaitingReportsAreBounded checks that a request beyond the bound of waiting events requests is answered with 503, and
// that all waiting requests are answered in the end.
func TestWaitingReportsAreBounded(t *testing.T) {
	const bound = 4096
	node := servingtest.New(servingtest.Spec{Bids: 10})
	node.Proposer.Block = make(chan struct{})
	var all sync.WaitGroup
	for i := range bound {
		all.Go(func() {
			if a := ask(node.Core, "POST", "/v2/events", node.AuctionKey, pageview(fmt.Sprint(i))); a.status != 200 {
				t.Errorf("request %d: %d %s", i, a.status, a.body)
			}
		})
	}
	node.Proposer.WaitBlocked(bound)
	if a := ask(node.Core, "POST", "/v2/events", node.AuctionKey, pageview("one more")); a.status != 503 || a.errCode(t) != "service_unavailable" {
		t.Errorf("the request beyond the bound: %d %s", a.status, a.body)
	}
	if a := ask(node.Core, "POST", "/v2/auctions", node.AuctionKey, auctionBody); a.status != 201 {
		t.Errorf("auctions wait for events: %d", a.status)
	}
	close(node.Proposer.Block)
	all.Wait()
	if n := len(node.Proposer.Records()); n != bound {
		t.Errorf("%d records", n)
	}
}

// TestCells checks that the rollup cell is the start of the local hour in zones with odd offsets and with summer time.
func TestCells(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10})
	for _, tc := range []struct{ zone, occurred, start string }{
		{"UTC", "2026-03-04T10:59:59.999Z", "2026-03-04T10:00:00Z"},
		{"Asia/Kathmandu", "2026-03-04T10:20:00Z", "2026-03-04T10:15:00Z"}, // 16:05 at +05:45.
		{"Asia/Kolkata", "2026-03-04T10:20:00Z", "2026-03-04T09:30:00Z"},
		{"America/St_Johns", "2026-03-04T10:20:00Z", "2026-03-04T09:30:00Z"},
		{"Europe/Berlin", "2026-03-29T00:59:00Z", "2026-03-29T00:00:00Z"}, // The last hour of winter,
		{"Europe/Berlin", "2026-03-29T01:01:00Z", "2026-03-29T01:00:00Z"}, // the first of summer.
	} {
		zone, err := time.LoadLocation(tc.zone)
		if err != nil {
			t.Fatal(err)
		}
		deps := node.Deps
		deps.Location = func(uint16) *time.Location { return zone }
		body := strings.Replace(pageview(tc.zone+tc.occurred), "2026-09-21T13:00:00Z", tc.occurred, 1)
		if a := ask(serving.New(deps), "POST", "/v2/events", node.AuctionKey, body); a.status != 200 {
			t.Fatal(a.body)
		}
		all := node.Proposer.Records()
		start, err := time.Parse(time.RFC3339, tc.start)
		if err != nil {
			t.Fatal(err)
		}
		if got := int64(all[len(all)-1].Cell) * 900; got != start.Unix() {
			t.Errorf("%s, %s: cell starts at %v", tc.zone, tc.occurred, time.Unix(got, 0).UTC())
		}
	}
}

func TestEventMetrics(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10})
	node.Proposer.Outcome = func(*command.EventRecord) command.EventResult {
		return command.EventResult{Outcome: command.Clipped, Charged: 300, Clipped: 20}
	}
	for range 2 {
		ask(node.Core, "POST", "/v2/events", node.AuctionKey, pageview("1"))
	}
	ask(node.Core, "POST", "/v2/auctions", node.AuctionKey, auctionBody)
	ask(node.Core, "POST", "/v2/auctions", "", auctionBody)
	text := scrape(t, node)
	for _, line := range []string{
		`gavel_events_total{kind="pageviews",outcome="clipped"} 1`,
		`gavel_events_total{kind="pageviews",outcome="duplicate"} 1`,
		`gavel_charged_micros_total{currency="EUR"} 300`, `gavel_clipped_micros_total{currency="EUR"} 20`,
		`gavel_auctions_total 1`, `gavel_winners_total 2`,
		`gavel_requests_total{operation="auctions",status="201"} 1`,
		`gavel_requests_total{operation="auctions",status="401"} 1`,
		`gavel_requests_total{operation="events",status="200"} 2`,
		`gavel_errors_total{code="invalid_api_key",status="401"} 1`,
		`gavel_key_check_failures_total{status="401"} 1`,
		`gavel_request_seconds_count{operation="auctions"} 2`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
}

type fixedReply []byte

func (r fixedReply) Propose(_ context.Context, _ ids.Group, _ []byte) ([]byte, error) { return r, nil }

// discard answers as if every record were new, and stores none.
type discard struct{}

func (discard) Propose(_ context.Context, _ ids.Group, cmd []byte) ([]byte, error) {
	opened, err := command.Open(cmd)
	if err != nil {
		return nil, err
	}
	return command.AppendEventResults(nil, make([]command.EventResult, opened.Count)), nil
}

// TestUnknownProductsAreMarked checks that the record of a purchase marks products that the catalog does not have, if the
// feature level of the group allows it.
func TestUnknownProductsAreMarked(t *testing.T) {
	for _, level := range []command.Level{command.LevelFormat1, command.LevelProducts} {
		node := servingtest.New(servingtest.Spec{Bids: 10})
		deps := node.Deps
		deps.Level = func(ids.Group) command.Level { return level }
		body := fmt.Sprintf(`{"purchases":[{"id":"1",%s,"items":[{"productId":"p-0000001","quantity":1,"unitPrice":1},{"productId":"invented","unitPrice":1}]}]}`, occurred)
		if a := ask(serving.New(deps), "POST", "/v2/events", node.AuctionKey, body); a.status != 200 {
			t.Fatal(a.body)
		}
		items := node.Proposer.Committed[0].Events.Records[0].Items
		if want := level == command.LevelProducts; items[0].Unknown || items[1].Unknown != want {
			t.Errorf("level %d: %+v", level, items)
		}
	}
}

// TestRecordsOfAds checks that impressions and clicks of a token carry the rank, the product and the age from which click
// rates are learned, if the feature level of the group allows it.
func TestRecordsOfAds(t *testing.T) {
	for _, level := range []command.Level{command.LevelProducts, command.LevelPacing} {
		node := servingtest.New(servingtest.Spec{Bids: 10})
		deps := node.Deps
		deps.Level = func(ids.Group) command.Level { return level }
		known := node.Market.View().Campaign(1)
		own := token(node, bidid.Payload{
			Charge: model.CPC, Shard: ids.Shard(known.Shard), Campaign: known.Ordinal, Bid: 3, Rank: 2, Price: 1,
			IssuedMillis: servingtest.NowMillis - 90_000,
		})
		unknown := token(node, bidid.Payload{Charge: model.CPC, Campaign: 1, Bid: 1 << 30, Price: 1, IssuedMillis: servingtest.NowMillis + 20_000})
		old := token(node, bidid.Payload{Charge: model.CPC, Campaign: 1, Bid: 1 << 30, Price: 1, IssuedMillis: 1})
		external := token(node, bidid.Payload{External: true, ProductHash: 1})
		body := fmt.Sprintf(`{"impressions":[{"id":"1",%[1]s,"resolvedBidId":%[2]q},{"id":"2",%[1]s}],
			"clicks":[{"id":"1",%[1]s,"resolvedBidId":%[2]q},{"id":"2",%[1]s,"resolvedBidId":%[3]q},
				{"id":"3",%[1]s,"resolvedBidId":%[4]q},{"id":"4",%[1]s,"resolvedBidId":%[5]q}],
			"purchases":[{"id":"1",%[1]s,"items":[{"productId":"a","unitPrice":1}],"resolvedBidId":%[2]q}]}`, occurred, own, unknown, old, external)
		if a := ask(serving.New(deps), "POST", "/v2/events", node.AuctionKey, body); a.status != 200 {
			t.Fatal(a.body)
		}
		var got []string
		for _, r := range node.Proposer.Records() {
			got = append(got, fmt.Sprintf("%s %d %d %q", r.Kind, r.Rank, r.AgeSeconds, r.Product))
		}
		want := []string{
			`impressions 2 90 "p-0000002"`, `impressions 0 0 ""`, `clicks 2 90 "p-0000002"`, `clicks 1 0 ""`, `clicks 1 604800 ""`,
			`clicks 0 0 ""`, `purchases 0 0 ""`,
		}
		if level < command.LevelPacing {
			for i := range want {
				want[i] = strings.Fields(want[i])[0] + ` 0 0 ""`
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("level %d:\n got %q\nwant %q", level, got, want)
		}
	}
}

// TestRecordsOfPlaces checks that an event of a token carries the placement of the auction, and its own device and channel if the
// feature level of the group allows it; and that one which names its campaign by an external id has the latter two alone.
func TestRecordsOfPlaces(t *testing.T) {
	for level, want := range map[command.Level]event.Place{
		command.LevelClosing: event.PlaceOf(3, event.UnknownDevice, event.OnSite),
		command.LevelPlaces:  event.PlaceOf(3, event.Mobile, event.InStore),
	} {
		node := servingtest.New(servingtest.Spec{Bids: 10})
		deps := node.Deps
		deps.Level = func(ids.Group) command.Level { return level }
		shown := token(node, bidid.Payload{Charge: model.CPC, Campaign: 1, Bid: 1, Price: 1, PlacementIndex: 3})
		body := fmt.Sprintf(`{"clicks":[{"id":"1",%s,"resolvedBidId":%q,"deviceType":"mobile","channel":"instore"}]}`, occurred, shown)
		external := fmt.Sprintf(`{"clicks":[{"id":"2",%s,"externalCampaignId":"x-1","deviceType":"mobile","channel":"instore"}]}`, occurred)
		for _, body := range []string{body, external} {
			if a := ask(serving.New(deps), "POST", "/v2/events", node.AuctionKey, body); a.status != 200 {
				t.Fatal(a.body)
			}
		}
		without := event.PlaceOf(0, want.Device(), want.Channel())
		if records := node.Proposer.Records(); len(records) != 2 || records[0].Place != want || records[1].Place != without {
			t.Errorf("level %d: %+v, want the places %#x and %#x", level, records, want, without)
		}
	}
}
