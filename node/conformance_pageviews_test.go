package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Page views that were reported can be read back: the marketplace's report counts them, in all and by day.
func TestConformancePageviewsAreReported(t *testing.T) {
	s := startNode(t)
	s.vendor("v1", 1)
	s.product("p1", "v1", "", "")
	var views []string
	for i := range 3 {
		views = append(views, fmt.Sprintf(`{"id":"v%d","occurredAt":%q,"opaqueUserId":"u","page":{"type":"home"}}`, i, time.Now().UTC().Format(time.RFC3339)))
	}
	views = append(views, views[0]) // A repeat counts once.
	s.events(200, `{"pageviews":[`+strings.Join(views, ",")+`]}`)

	day := func(n int) string { return time.Now().UTC().AddDate(0, 0, n).Format(time.DateOnly) }
	days := "?start_date=" + day(-1) + "&end_date=" + day(1)
	if r := s.manage(200, "GET", "reporting-service/marketplace"+days, ""); r.member("pageviews") != 3.0 {
		t.Errorf("the report of the marketplace is %s, want 3 page views", r.body)
	}
	var daily struct{ Reports []struct{ Pageviews int } }
	s.decode(s.manage(200, "GET", "reporting-service/marketplace/daily"+days, ""), &daily)
	sum := 0
	for _, d := range daily.Reports {
		sum += d.Pageviews
	}
	if sum != 3 {
		t.Errorf("the days have %d page views, want 3", sum)
	}
	if r := s.manage(200, "GET", "reporting-service/products/p1"+days, ""); r.member("pageviews") != nil {
		t.Errorf("a product has page views: %s", r.body)
	}
}
