package manage_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
)

const (
	oneRule = `{"invalidTraffic":{"repeatedClickSeconds":60}}`
	noRule  = `{"invalidTraffic":{"repeatedClickSeconds":0}}`
)

// TestAnInvalidClickIsReportedAndNotCharged turns a rule on and off. The click that it catches is answered like any other,
// is known when it is repeated, stands in the report by its rule, and costs nothing.
func TestAnInvalidClickIsReportedAndNotCharged(t *testing.T) {
	a := newAdvertised(t, managetest.New(t), model.Total)
	a.setRules(oneRule, 200)
	a.click(a.win())
	body := fmt.Sprintf(`{"clicks":[{"id":"again","occurredAt":%q,"opaqueUserId":"u","resolvedBidId":%q}]}`,
		a.Now().UTC().Format(time.RFC3339), a.win())
	for _, status := range []string{"recorded", "duplicate"} {
		rec := call(a.Environment, "POST", "/v2/events?detail=true", "auction", body)
		if want := `"clicks":[{"id":"again","status":"` + status + `"}]`; rec.Code != 200 || !strings.Contains(rec.Body.String(), want) {
			t.Errorf("%d %s, want %s", rec.Code, rec.Body, want)
		}
	}
	a.money("an invalid click", 49_100_000, 900_000, 900_000)
	a.reported(`"clicks":{"total":1,"charged":1,`, `"invalid":{"clicks":1,"tooSoon":0,"tooLate":0,"repeated":1,`)
	a.setRules(noRule, 200)
	a.click(a.win())
	a.money("a click without a rule, for what the budget has left", 49_000_000, 1_000_000, 1_000_000)
	a.reported(`"clicks":{"total":2,"charged":2,`, `"invalid":{"clicks":1,`)
}

// Below LevelInvalidTraffic a rule cannot be turned on, and settings without rules change as before.
func TestRulesWaitForTheirLevel(t *testing.T) {
	a := newAdvertised(t, managetest.NewAt(t, command.LevelInvalidTraffic-1), model.Total)
	a.setRules(oneRule, 503)
	a.setRules(noRule, 200)
	a.setRules(`{"timeZone":"Europe/Berlin"}`, 200)
}

// setRules changes settings and compares the status.
func (a *advertised) setRules(body string, status int) {
	a.t.Helper()
	if rec := call(a.Environment, "PATCH", "/public/v1"+settingsPath, "management", body); rec.Code != status {
		a.t.Fatalf("%s: %d %s, want %d", body, rec.Code, rec.Body, status)
	}
}

// reported checks that the campaign's report has some parts.
func (a *advertised) reported(parts ...string) {
	a.t.Helper()
	path := fmt.Sprintf("/public/v1/reporting-service/campaigns/%s?start_date=2026-03-16&end_date=2026-03-19", a.campaign.ID)
	rec := call(a.Environment, "GET", path, "management", "")
	for _, part := range parts {
		if !strings.Contains(rec.Body.String(), part) {
			a.t.Errorf("%d %s, want %s", rec.Code, rec.Body, part)
		}
	}
}
