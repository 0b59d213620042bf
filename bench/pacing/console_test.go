package pacing

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/bench/pacing/metric"
)

// TestTheConsoleHasTheTables checks that the console's page of simulations shows the metrics of WriteText, in its tables and order,
// with their titles, explanations and decimals.
func TestTheConsoleHasTheTables(t *testing.T) {
	const page = "../../web/src/pages/simulation.ts"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	members := regexp.MustCompile(`\b(key|title|about): ("[^"]*")|\b(digits): (\d)`)
	var got []string
	for _, m := range members.FindAllStringSubmatch(string(text), -1) {
		got = append(got, m[1]+m[3]+" "+m[2]+m[4])
	}
	about := map[string]metric.Metric{}
	for _, m := range metric.All() {
		about[m.Key] = m
	}
	var want []string
	for _, table := range tables {
		want = append(want, fmt.Sprintf("title %q", table.title))
		for _, key := range table.keys {
			m := about[key]
			want = append(want, fmt.Sprintf("key %q", key), fmt.Sprintf("title %q", m.Title), fmt.Sprintf("about %q", m.About), fmt.Sprint("digits ", m.Digits))
		}
	}
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("%s has\n%s\nwant\n%s", page, a, b)
	}
}
