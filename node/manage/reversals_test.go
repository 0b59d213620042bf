package manage_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	service "github.com/gavel-ads/gavel/node/campaigns"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
)

const reversalsPath = "/public/v1/billing-service/reversals"

// advertised is an environment with a vendor that has 50.00, and a campaign that pays 0.90 for each click.
type advertised struct {
	*managetest.Environment
	t        *testing.T
	campaign model.Campaign
	clicks   int
}

func newAdvertised(t *testing.T, w *managetest.Environment, period model.Period) *advertised {
	t.Helper()
	seller(t, w)
	if rec := call(w, "POST", "/public/v1/billing-service/vendors/v/balance", "management", `{"balance":50}`); rec.Code != 200 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	a := &advertised{Environment: w, t: t}
	a.campaign = model.Campaign{
		VendorID: "v", Name: "c", Type: "manual", Charge: model.CPC, Period: period, Budget: 1_000_000, Active: true,
		Status: model.Approved, Price: model.FirstPrice,
	}
	bid := service.ListingBid("p")
	bid.Amount = 900_000
	if err := w.Store.Tenant(managetest.Main).CreateCampaign(t.Context(), &a.campaign, []model.Bid{bid}); err != nil {
		t.Fatal(err)
	}
	return a
}

// win returns the resolvedBidId of the campaign's ad; empty when it does not win.
func (a *advertised) win() string {
	a.t.Helper()
	rec := call(a.Environment, "POST", "/v2/auctions", "auction", `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["p"]}}]}`)
	var answer struct {
		Results []struct {
			Winners []struct{ ResolvedBidID string }
		}
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &answer); err != nil || len(answer.Results) != 1 {
		a.t.Fatalf("%v: %d %s", err, rec.Code, rec.Body)
	}
	if len(answer.Results[0].Winners) == 0 {
		return ""
	}
	return answer.Results[0].Winners[0].ResolvedBidID
}

// click reports a click on the ad of a token.
func (a *advertised) click(token string) {
	a.t.Helper()
	a.clicks++
	body := fmt.Sprintf(`{"clicks":[{"id":"c%d","occurredAt":%q,"opaqueUserId":"u","resolvedBidId":%q}]}`, a.clicks, a.Now().UTC().Format(time.RFC3339), token)
	if rec := call(a.Environment, "POST", "/v2/events", "auction", body); rec.Code != 200 {
		a.t.Fatalf("%d %s", rec.Code, rec.Body)
	}
}

func (a *advertised) reverse(body string) *httptest.ResponseRecorder {
	a.t.Helper()
	return call(a.Environment, "POST", reversalsPath, "management", body)
}

// money compares what the wallet has, what the campaign has spent, and what the report says, in micros.
func (a *advertised) money(why string, balance, spent, spentPeriod int64) {
	a.t.Helper()
	tenant := a.Store.Tenant(managetest.Main)
	wallets, err := tenant.Wallets(a.t.Context(), "v")
	c, err2 := tenant.Campaign(a.t.Context(), a.campaign.ID)
	report, err3 := tenant.CampaignReport(a.t.Context(), a.campaign.ID, store.Dates{From: "2026-03-16", To: "2026-03-19"})
	if err != nil || err2 != nil || err3 != nil {
		a.t.Fatal(err, err2, err3)
	}
	got := [4]int64{int64(wallets[0].Balance), int64(c.Money.SpentTotal), int64(c.Money.Spent), int64(report.SpentClicks)}
	if want := [4]int64{balance, spent, spentPeriod, spent}; got != want {
		a.t.Errorf("%s: balance, spent, spent in the period and in the report are %v, want %v", why, got, want)
	}
	_ = a.Store.Groups.Read(a.campaign.Group, func(r shard.Reader) error { // The groups of the tests can be read.
		if err := (shard.Queries{R: r}).Verify(); err != nil {
			a.t.Error(why, err)
		}
		return nil
	})
}

// TestReversedClick reverses a click in two parts and no more than once, and the campaign can spend its budget again.
func TestReversedClick(t *testing.T) {
	a := newAdvertised(t, managetest.New(t), model.Total)
	token := a.win()
	a.click(token)
	a.money("a click", 49_100_000, 900_000, 900_000)
	bidOf := fmt.Sprintf(`{"resolvedBidId":%q,"reason":"invalid_traffic"`, token)
	rec := a.reverse(bidOf + `,"amount":40,"note":"a robot"}`)
	if rec.Code != 201 || !strings.Contains(rec.Body.String(), `"amount":40`) || !strings.Contains(rec.Body.String(), `"budgetAmount":40`) {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	a.money("a part", 49_500_000, 500_000, 500_000)
	if rec := a.reverse(bidOf + `,"amount":51}`); rec.Code != 409 || !strings.Contains(rec.Body.String(), "invalid_operation") {
		t.Errorf("more than is left: %d %s", rec.Code, rec.Body)
	}
	if rec := a.reverse(bidOf + "}"); rec.Code != 201 || !strings.Contains(rec.Body.String(), `"amount":50`) {
		t.Errorf("the rest: %d %s", rec.Code, rec.Body)
	}
	if rec := a.reverse(bidOf + "}"); rec.Code != 409 {
		t.Errorf("nothing is left: %d %s", rec.Code, rec.Body)
	}
	a.money("all", 50_000_000, 0, 0)
	a.click(token)
	a.money("the same ad again is not charged again", 50_000_000, 0, 0)
	a.click(a.win())
	a.money("another click", 49_100_000, 900_000, 900_000)

	entries := call(a.Environment, "GET", "/public/v1/billing-service/vendors/v/wallets", "management", "")
	var wallets struct{ Wallets []struct{ WalletID string } }
	if err := json.Unmarshal(entries.Body.Bytes(), &wallets); err != nil {
		t.Fatal(err)
	}
	entries = call(a.Environment, "GET", "/public/v1/billing-service/ledger/accounts/"+wallets.Wallets[0].WalletID+"/entries", "management", "")
	if n := strings.Count(entries.Body.String(), `"kind":"reversal"`); n != 2 || !strings.Contains(entries.Body.String(), "a robot") {
		t.Errorf("%d reversals are listed: %s", n, entries.Body)
	}
}

// TestReversedAmount gives an amount back that is of no single click, up to what was charged. A daily budget gets only what
// the days before cannot have spent.
func TestReversedAmount(t *testing.T) {
	a := newAdvertised(t, managetest.New(t), model.Daily)
	ofCampaign := fmt.Sprintf(`{"campaignId":%q,"reason":"goodwill"`, a.campaign.ID)
	a.click(a.win())
	a.Environment.Advance(24 * time.Hour)
	a.nextDay()
	a.click(a.win())
	a.money("two days", 48_200_000, 1_800_000, 900_000)
	if rec := a.reverse(ofCampaign + `,"amount":60}`); rec.Code != 201 || !strings.Contains(rec.Body.String(), `"budgetAmount":0`) {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	a.money("what the first day may have spent", 48_800_000, 1_200_000, 900_000)
	if rec := a.reverse(ofCampaign + `,"amount":121}`); rec.Code != 409 {
		t.Errorf("more than was charged: %d %s", rec.Code, rec.Body)
	}
	if rec := a.reverse(ofCampaign + `,"amount":120}`); rec.Code != 201 || !strings.Contains(rec.Body.String(), `"budgetAmount":90`) {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	a.money("all", 50_000_000, 0, 0)
}

// nextDay starts the budget periods of the next day.
func (a *advertised) nextDay() {
	a.t.Helper()
	p := command.Periods{Marketplace: managetest.Main, Day: 100_000, Week: 10_000, Month: 100_000}
	cmd := command.AppendAdvance(nil, a.Now().UnixMilli(), &command.Advance{Periods: []command.Periods{p}})
	if _, _, err := a.Store.Groups.ProposeAt(a.t.Context(), a.campaign.Group, cmd); err != nil {
		a.t.Fatal(err)
	}
}

// TestReversalIsRepeated: a repeat with the same Idempotency-Key gives nothing back again, and an unknown token, an unknown
// campaign or a request of neither is refused.
func TestReversalIsRepeated(t *testing.T) {
	a := newAdvertised(t, managetest.New(t), model.Total)
	token := a.win()
	unclicked := a.win()
	a.click(token)
	body := fmt.Sprintf(`{"campaignId":%q,"reason":"billing_error","amount":30}`, a.campaign.ID)
	var first string
	for n := range 3 {
		rec := call(a.Environment, "POST", reversalsPath, "management", body, "Idempotency-Key", "once")
		if n == 0 {
			first = rec.Body.String()
		}
		if rec.Code != 201 || rec.Body.String() != first {
			t.Errorf("repeat %d: %d %s, want %s", n, rec.Code, rec.Body, first)
		}
	}
	a.money("once", 49_400_000, 600_000, 600_000)
	var made struct{ ReversalID, Author string }
	if err := json.Unmarshal([]byte(first), &made); err != nil || !strings.HasPrefix(made.Author, "key:") {
		t.Fatalf("%v %s", err, first)
	}
	if rec := call(a.Environment, "GET", reversalsPath+"/"+made.ReversalID, "management", ""); rec.Code != 200 || rec.Body.String() != first {
		t.Errorf("%d %s, want %s", rec.Code, rec.Body, first)
	}
	for body, want := range map[string]int{
		`{"reason":"goodwill","amount":1}`:                                                        422,
		`{"reason":"goodwill","campaignId":"` + a.campaign.ID.String() + `"}`:                     422,
		`{"reason":"goodwill","campaignId":"` + a.campaign.ID.String() + `","resolvedBidId":"x"}`: 422,
		`{"reason":"because","campaignId":"` + a.campaign.ID.String() + `","amount":1}`:           422,
		`{"reason":"goodwill","resolvedBidId":"forged"}`:                                          400,
		`{"reason":"goodwill","resolvedBidId":"` + unclicked + `"}`:                               404,
		`{"reason":"goodwill","campaignId":"` + made.ReversalID + `","amount":1}`:                 404,
		`{"reason":"goodwill","campaignId":"` + a.campaign.ID.String() + `","amount":61}`:         409,
		`{"reason":"goodwill","resolvedBidId":"` + token + `","amount":61}`:                       409,
	} {
		if rec := a.reverse(body); rec.Code != want {
			t.Errorf("%s: %d %s, want %d", body, rec.Code, rec.Body, want)
		}
	}
	a.money("refused", 49_400_000, 600_000, 600_000)
}

// Below LevelReturns a reversal is answered 503, and nothing changes.
func TestReversalNeedsItsLevel(t *testing.T) {
	a := newAdvertised(t, managetest.NewAt(t, command.LevelReturns-1), model.Total)
	a.click(a.win())
	rec := a.reverse(fmt.Sprintf(`{"campaignId":%q,"reason":"goodwill","amount":1}`, a.campaign.ID))
	if rec.Code != 503 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	a.money("nothing", 49_100_000, 900_000, 900_000)
}

// listed is a page of the reversals of the vendor's wallet: their notes, and the query of the next page, empty at the end.
func (a *advertised) listed(wallet, query string) (notes []string, next string) {
	a.t.Helper()
	rec := call(a.Environment, "GET", reversalsPath+"?account="+wallet+query, "management", "")
	var page struct {
		Reversals []struct{ Note string }
		HasMore   bool
		NextPage  string
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &page); err != nil || rec.Code != 200 || page.HasMore != (page.NextPage != "") {
		a.t.Fatalf("%v: %d %s", err, rec.Code, rec.Body)
	}
	for _, r := range page.Reversals {
		notes = append(notes, r.Note)
	}
	if page.HasMore {
		next = "&next_page=" + page.NextPage
	}
	return notes, next
}

// TestReversalsAreListed: a wallet lists each of its reversals once, however many hours it is of, the newest first, in pages and by
// days. A page reads so many lines of the wallet at most.
func TestReversalsAreListed(t *testing.T) {
	a := newAdvertised(t, managetest.New(t), model.Daily)
	a.click(a.win())
	a.Environment.Advance(24 * time.Hour)
	a.nextDay()
	a.click(a.win())
	ofCampaign := fmt.Sprintf(`{"campaignId":%q,"reason":"goodwill"`, a.campaign.ID)
	reverse := func(rest string) {
		t.Helper()
		if rec := a.reverse(ofCampaign + rest); rec.Code != 201 {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
	}
	reverse(`,"amount":150,"note":"of two hours"}`)
	a.Environment.Advance(24 * time.Hour)
	reverse(`,"amount":10,"note":"a day later"}`)
	tenant := a.Store.Tenant(managetest.Main)
	wallets, err := tenant.Wallets(t.Context(), "v")
	if err != nil {
		t.Fatal(err)
	}
	wallet := wallets[0].ID.String()
	check := func(why, query string, want ...string) (next string) {
		t.Helper()
		notes, next := a.listed(wallet, query)
		if !slices.Equal(notes, want) {
			t.Errorf("%s: %q, want %q", why, notes, want)
		}
		return next
	}
	end := func(why, next string) {
		t.Helper()
		if next != "" {
			t.Errorf("%s: there is more: %s", why, next)
		}
	}
	end("all", check("all", "", "a day later", "of two hours"))
	next := check("the first page", "&limit=1", "a day later")
	end("the second page", check("the second page", "&limit=1"+next, "of two hours"))
	end("one day", check("one day", "&start_date=2026-03-18&end_date=2026-03-18", "of two hours"))
	end("from a day on", check("from a day on", "&start_date=2026-03-19", "a day later"))

	for range store.ReversalLinesMax {
		if _, err := tenant.Adjust(t.Context(), "v", wallets[0].ID, 1_000_000, false, "a deposit"); err != nil {
			t.Fatal(err)
		}
	}
	next = check("below many deposits", "")
	end("the next page", check("the next page", next, "a day later", "of two hours"))
	if rec := call(a.Environment, "GET", reversalsPath+"?account="+wallet+next+"x", "management", ""); rec.Code != 422 {
		t.Errorf("another cursor: %d %s", rec.Code, rec.Body)
	}
}
