package manage_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// countAuctions reports auctions of a campaign as a node does.
func countAuctions(t *testing.T, w *managetest.Environment, campaign string, number uint64, at time.Time, won uint64, lost ...command.LostAuctions) {
	t.Helper()
	id, err := ids.Parse(campaign)
	if err != nil {
		t.Fatal(err)
	}
	groups := w.Store.Groups
	g, ordinal := groups.GroupOf(ids.ShardOf(id)), uint32(0)
	if err := groups.Read(g, func(r shard.Reader) error {
		c, _ := shard.Queries{R: r}.Campaign(id)
		ordinal = c.Ordinal
		return nil
	}); err != nil || ordinal == 0 {
		t.Fatalf("campaign %s: %d %v", campaign, ordinal, err)
	}
	cell, _ := command.CellOf(at.Unix(), 0)
	answer, _, err := groups.ProposeAt(t.Context(), g, command.AppendCountAuctions(nil, at.UnixMilli(), &command.CountAuctions{
		Node: 1, Start: 1, Number: number, Campaigns: []command.CampaignAuctions{{Campaign: ordinal, Cell: cell, Won: won, Lost: lost}},
	}))
	if result, unreadable := command.ReadResult(answer); err != nil || unreadable != nil || result.Refusal != command.Done {
		t.Fatalf("%+v %v %v", result, err, unreadable)
	}
}

// Reports of campaigns, of their vendor and of the marketplace tell the auctions won and lost and why, by local day; the
// sums of days are the totals, and reports of products have none.
func TestReportsTellAuctions(t *testing.T) {
	w := managetest.New(t)
	seller(t, w)
	var campaigns [2]string
	for i := range campaigns {
		rec := call(w, "POST", "/public/v1/campaign-service/campaigns?vendor_id=v", "management",
			fmt.Sprintf(`{"name":"C%d","campaignType":"manual","bids":[{"target":{"type":"product","id":"p"},"amount":5}]}`, i))
		var made struct{ CampaignID string }
		if err := json.Unmarshal(rec.Body.Bytes(), &made); err != nil || rec.Code != 201 {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
		campaigns[i] = made.CampaignID
	}
	lost := func(r auction.Reason, n uint64) command.LostAuctions {
		return command.LostAuctions{Reason: r.Number(), Auctions: n}
	}
	looked := func(n uint64) command.LostAuctions { return command.LostAuctions{Auctions: n} }
	late := managetest.Start.Truncate(24 * time.Hour).Add(-time.Second) // The last second of the day before.
	countAuctions(t, w, campaigns[0], 1, late, 1, looked(2), lost(auction.Budget, 2))
	countAuctions(t, w, campaigns[0], 2, managetest.Start, 2, looked(3), lost(auction.Outranked, 3))
	countAuctions(t, w, campaigns[1], 3, managetest.Start, 0, looked(1), lost(auction.Outranked, 4))
	countAuctions(t, w, campaigns[1], 3, managetest.Start, 0, looked(1), lost(auction.Outranked, 4)) // A repeat.
	countAuctions(t, w, campaigns[1], 4, managetest.Start, 0, command.LostAuctions{Reason: rollup.LossReasonsMax - 1, Auctions: 1})

	get := func(path string) string {
		t.Helper()
		rec := call(w, "GET", "/public/v1/reporting-service/"+path+"?start_date=2026-03-01&end_date=2026-03-31", "management", "")
		if rec.Code != 200 {
			t.Fatalf("%s: %d %s", path, rec.Code, rec.Body)
		}
		var body struct {
			Auctions json.RawMessage
			Reports  []struct {
				Date     string
				Auctions json.RawMessage
			}
		}
		if err := json.Unmarshal(rec.Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		text.WriteString(string(body.Auctions))
		for _, day := range body.Reports {
			text.WriteString(day.Date + string(day.Auctions))
		}
		return text.String()
	}
	of := func(won, lost int, percentage, reasons string, counted int) string {
		return fmt.Sprintf(`{"won":%d,"lost":%d,"percentageWon":%s,"reasons":{%s},"counted":%d}`, won, lost, percentage, reasons, counted)
	}
	first, second := of(1, 2, "33.3333", `"budget":2`, 2), of(2, 8, "20", `"outranked":7`, 4)
	for path, want := range map[string]string{
		"campaigns/" + campaigns[0]:            of(3, 5, "37.5", `"budget":2,"outranked":3`, 5),
		"campaigns/" + campaigns[1]:            of(0, 5, "0", `"outranked":4`, 1),
		"campaigns/" + campaigns[0] + "/daily": "2026-03-16" + first + "2026-03-17" + of(2, 3, "40", `"outranked":3`, 3),
		"vendors/v":                            of(3, 10, "23.0769", `"budget":2,"outranked":7`, 6),
		"vendors/v/daily":                      "2026-03-16" + first + "2026-03-17" + second,
		"marketplace":                          of(3, 10, "23.0769", `"budget":2,"outranked":7`, 6),
		"marketplace/daily":                    "2026-03-16" + first + "2026-03-17" + second,
		"products/p":                           "",
		"products/p/daily":                     "",
	} {
		if got := get(path); got != want {
			t.Errorf("%s:\n got %s\nwant %s", path, got, want)
		}
	}
}

// A sum may be compared with other days; the days are checked like those of the report.
func TestReportsCompareDays(t *testing.T) {
	w := managetest.New(t)
	seller(t, w)
	rec := call(w, "POST", "/public/v1/campaign-service/campaigns?vendor_id=v", "management",
		`{"name":"C","campaignType":"manual","bids":[{"target":{"type":"product","id":"p"},"amount":5}]}`)
	var made struct{ CampaignID string }
	if err := json.Unmarshal(rec.Body.Bytes(), &made); err != nil || rec.Code != 201 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	countAuctions(t, w, made.CampaignID, 1, managetest.Start.AddDate(0, 0, -1), 1)
	countAuctions(t, w, made.CampaignID, 2, managetest.Start, 2)
	const days = "start_date=2026-03-17&end_date=2026-03-17"
	for _, subject := range []string{"campaigns/" + made.CampaignID, "vendors/v", "marketplace", "products/p"} {
		path := "/public/v1/reporting-service/" + subject + "?" + days
		type numbers struct {
			StartDate, EndDate string
			Auctions           *struct{ Won int }
			Impressions        *struct{ Total int }
		}
		var both struct {
			numbers
			Comparison *numbers
		}
		rec := call(w, "GET", path+"&compare_start_date=2026-03-10&compare_end_date=2026-03-16", "management", "")
		if err := json.Unmarshal(rec.Body.Bytes(), &both); err != nil || rec.Code != 200 || both.Comparison == nil {
			t.Fatalf("%s: %d %s", subject, rec.Code, rec.Body)
		}
		c := both.Comparison
		if c.StartDate != "2026-03-10" || c.EndDate != "2026-03-16" || c.Impressions == nil {
			t.Errorf("%s: %s", subject, rec.Body)
		}
		if has := c.Auctions != nil; has != (subject != "products/p") || has && (c.Auctions.Won != 1 || both.Auctions.Won != 2) {
			t.Errorf("%s: %s", subject, rec.Body)
		}
		if rec := call(w, "GET", path, "management", ""); rec.Code != 200 || strings.Contains(rec.Body.String(), "comparison") {
			t.Errorf("%s alone: %d %s", subject, rec.Code, rec.Body)
		}
		for query, parameter := range map[string]string{
			"&compare_start_date=2026-03-10":                             "compare_end_date",
			"&compare_end_date=2026-03-10":                               "compare_start_date",
			"&compare_start_date=2026-03-10&compare_end_date=2026-03-09": "compare_end_date",
			"&compare_start_date=2025-03-10&compare_end_date=2026-03-11": "compare_end_date",
		} {
			if rec := call(w, "GET", path+query, "management", ""); rec.Code != 422 || !strings.Contains(rec.Body.String(), `["query","`+parameter+`"]`) {
				t.Errorf("%s%s: %d %s", subject, query, rec.Code, rec.Body)
			}
		}
	}
}
