package driver_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

const request = `{"auctions":[{"type":"listings","slots":2,"products":{"ids":["a","b","c"]}},
	{"type":"listings","slots":1,"products":{"ids":["d"]}}]}`

const winnerA = `{"rank":1,"type":"product","id":"a","resolvedBidId":"t-1","campaignId":"c"}`

func answer(first, second string) string {
	return fmt.Sprintf(`{"results":[{"resultType":"listings","winners":[%s],"error":false},
		{"resultType":"listings","winners":[%s],"error":false}]}`, first, second)
}

func TestAuctionsAcceptsWhatTheInterfaceSays(t *testing.T) {
	second := strings.NewReplacer(`"rank":1`, `"rank":2`, `"a"`, `"c"`, "t-1", "t_2").Replace(winnerA)
	winners, err := driver.CheckAuctions([]byte(request), []byte(answer(winnerA+","+second, "")))
	if err != nil || len(winners) != 2 || winners[1].ID != "c" {
		t.Fatalf("%v %v", winners, err)
	}
}

func TestAuctionsRefusesWrongAnswers(t *testing.T) {
	with := func(old, replacement string) string { return answer(strings.Replace(winnerA, old, replacement, 1), "") }
	for name, body := range map[string]string{
		"not json":           "{",
		"one result missing": `{"results":[{"resultType":"listings","winners":[],"error":false}]}`,
		"error":              strings.Replace(answer(winnerA, ""), "false", "true", 1),
		"error absent":       strings.Replace(answer(winnerA, ""), `,"error":false`, "", 1),
		"winners null":       strings.Replace(answer("", ""), "[]", "null", 1),
		"result type":        strings.Replace(answer("", ""), "listings", "banners", 1),
		"rank from 0":        with(`"rank":1`, `"rank":0`),
		"not asked for":      with(`"a"`, `"d"`),
		"type":               with(`"product"`, `"vendor"`),
		"no token":           with(`"t-1"`, `""`),
		"token not url-safe": with(`"t-1"`, `"t+1"`),
		"token too long":     with(`"t-1"`, `"`+strings.Repeat("t", 129)+`"`),
		"no campaign":        with(`"c"}`, `""}`),
		"too many winners":   answer("", winnerA+","+winnerA),
		"product twice":      answer(winnerA+","+strings.NewReplacer(`"rank":1`, `"rank":2`, "t-1", "t-2").Replace(winnerA), ""),
		"token twice":        answer(winnerA, strings.Replace(winnerA, `"a"`, `"d"`, 1)),
	} {
		if winners, err := driver.CheckAuctions([]byte(request), []byte(body)); err == nil {
			t.Errorf("%s: accepted with %v", name, winners)
		}
	}
}

func TestEventsIsAnEmptyObject(t *testing.T) {
	if err := driver.CheckEvents([]byte("{}")); err != nil {
		t.Error(err)
	}
	for _, body := range []string{"", "null", "[]", `{"a":1}`, "{} {}"} {
		if driver.CheckEvents([]byte(body)) == nil {
			t.Errorf("%q was accepted", body)
		}
	}
}

// twoCampaigns is a Reader of two campaigns, the second of which is billed a given amount.
type twoCampaigns struct{ second string }

func (b twoCampaigns) Campaigns(context.Context) ([]shop.Campaign, error) {
	campaigns := []shop.Campaign{{ID: "c1"}, {ID: "c2"}}
	campaigns[1].Budget = &struct {
		Amount          int64 `json:"amount"`
		AmountUsed      int64 `json:"amountUsed"`
		AmountRemaining int64 `json:"amountRemaining"`
	}{Amount: 10}
	return campaigns, nil
}

func (b twoCampaigns) CompleteReport(_ context.Context, campaign string, _ time.Time) (*shop.Report, error) {
	r := &shop.Report{
		Impressions: shop.Interactions{Total: 5, Decimal: "0"},
		Clicks:      shop.Interactions{Total: 4, Charged: 3, Decimal: "1.5"},
	}
	if campaign == "c2" {
		r.Clicks.Decimal = b.second
	}
	return r, nil
}

func TestReportsAreComparedExactly(t *testing.T) {
	read := func(second string) driver.Totals {
		t.Helper()
		totals, err := driver.ReadTotals(t.Context(), twoCampaigns{second}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return totals
	}
	good := read("9.9999")
	if good.Impressions != 10 || good.Clicks != 8 || good.ChargedClicks != 6 || good.Spent != 114_999 {
		t.Fatalf("totals %+v", good)
	}
	before := good
	before.Impressions, before.Clicks, before.ChargedClicks, before.Spent = 7, 5, 3, 1
	if faults := driver.CompareTotals(before, good, driver.Acknowledged{Impressions: 3, Clicks: 3}); faults != nil {
		t.Errorf("the totals agree, yet %v", faults)
	}
	for _, acked := range []driver.Acknowledged{{Impressions: 2, Clicks: 3}, {Impressions: 3, Clicks: 4}, {Impressions: 3, Clicks: 2}} {
		if driver.CompareTotals(before, good, acked) == nil {
			t.Errorf("%+v was taken to agree", acked)
		}
	}
	if faults := driver.CompareTotals(before, read("10.0001"), driver.Acknowledged{Impressions: 3, Clicks: 3}); len(faults) != 1 {
		t.Errorf("a campaign over its budget: %v", faults)
	}
}
