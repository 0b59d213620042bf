package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A schedule raises, lowers and stops bids by the hour of the week in the marketplace's time zone.
// node/manage/campaign/testdata/explain-schedule.txt tests changes of clocks, with virtual time.
func TestConformanceSchedule(t *testing.T) {
	s := startNode(t)
	s.vendor("v1", 100)
	s.vendor("v2", 100)
	s.product("p1", "v1", "", "")
	s.product("p2", "v2", "", "")
	s.campaign("v2", "", bid("p2", 50))
	const kathmandu = "Asia/Kathmandu" // It differs by quarter hours, and its hour is never that of UTC.
	zone, err := time.LoadLocation(kathmandu)
	if err != nil {
		t.Fatal(err)
	}
	campaign := s.campaign("v1", "", bid("p1", 40))
	for _, row := range []struct {
		percent int
		want    string
	}{{100, "p2 p1"}, {200, "p1 p2"}, {0, "p2"}, {124, "p2 p1"}, {126, "p1 p2"}} {
		s.manage(200, "PATCH", "campaign-service/campaigns/"+campaign, `{"schedule":{"hours":[`+hoursAround(time.Now().In(zone), row.percent)+`]}}`)
		for _, at := range []struct{ zone, want string }{{kathmandu, row.want}, {"UTC", "p2 p1"}} {
			s.manage(200, "PATCH", "marketplace-service/settings", `{"timeZone":"`+at.zone+`"}`)
			if got := s.win(2, `"products":{"ids":["p1","p2"]}`).list(); got != at.want {
				t.Errorf("%d %% of the bid in %s: %s won, want %s", row.percent, at.zone, got, at.want)
			}
		}
	}
	s.manage(200, "PATCH", "marketplace-service/settings", `{"timeZone":"`+kathmandu+`"}`)
	s.manage(200, "PATCH", "campaign-service/campaigns/"+campaign, `{"schedule":{"isActive":false,"hours":[`+hoursAround(time.Now().In(zone), 200)+`]}}`)
	if got := s.win(2, `"products":{"ids":["p1","p2"]}`).list(); got != "p2 p1" {
		t.Errorf("a schedule that is switched off: %s won", got)
	}
}

// hoursAround is a week of bids at 100 %, except for the hour of an instant and the hours beside it, because a test may
// take a while.
func hoursAround(at time.Time, percent int) string {
	hour := (int(at.Weekday())+6)%7*24 + at.Hour()
	var hours []string
	for h := range 168 {
		value := 100
		if distance := (h - hour + 168) % 168; distance <= 1 || distance == 167 {
			value = percent
		}
		hours = append(hours, fmt.Sprint(value))
	}
	return strings.Join(hours, ",")
}
