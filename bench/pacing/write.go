package pacing

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/gavel-ads/gavel/bench/pacing/metric"
)

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(r)
}

// tables are the metrics of each table that WriteText writes.
var tables = []struct {
	title string
	keys  []string
}{
	{"Budgets", []string{"utilisation", "overDelivery", "overspend", "early", "life", "quickspend"}},
	{"Evenness", []string{"ks", "ks10", "openLoop10", "ksSmall", "ksMedium", "ksLarge", "error15", "error1", "error15CPM", "volatility"}},
	{"Value", []string{"valuePerMoney", "clicksPerMoney", "ecpc", "welfare", "revenue"}},
}

// WriteText writes the means over the seeds as tables and, with more than one seed and row, the paired differences from
// the first row with their 95 % confidence intervals.
func (r *Report) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%d campaigns, %s constrained, %s requests, %d nodes, lag %d ms, seeds %s\n",
		r.Campaigns, span(r.Constrained), span(r.Requests), r.Nodes, r.LagMillis, spanOf(r.Seeds))
	metrics := map[string]metric.Metric{}
	for _, m := range metric.All() {
		metrics[m.Key] = m
	}
	for _, t := range tables {
		fmt.Fprintf(w, "\n%s\n", t.title)
		r.table(w, metrics, t.keys, false)
		if len(r.Seeds) > 1 && len(r.Rows) > 1 {
			fmt.Fprintf(w, "\n%s: difference from %s, with 95 %% confidence intervals over %d seeds\n", t.title, r.Rows[0].Name(), len(r.Seeds))
			r.table(w, metrics, t.keys, true)
		}
	}
	fmt.Fprintln(w)
	for _, t := range tables {
		for _, key := range t.keys {
			if _, err := fmt.Fprintf(w, "%-14s%s\n", metrics[key].Title, metrics[key].About); err != nil {
				return err
			}
		}
	}
	return nil
}

// table writes one table. An error of w comes again with the next write.
func (r *Report) table(w io.Writer, metrics map[string]metric.Metric, keys []string, differences bool) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "policy\t")
	for _, key := range keys {
		fmt.Fprint(t, metrics[key].Title, "\t")
	}
	fmt.Fprintln(t)
	for i := range r.Rows {
		row := &r.Rows[i]
		if differences && i == 0 {
			continue
		}
		fmt.Fprint(t, row.Name(), "\t")
		for _, key := range keys {
			fmt.Fprint(t, cell(row, key, metrics[key].Digits, differences), "\t")
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush() // The caller's last write reports the same error.
}

// cell returns a mean, or a difference with its interval.
func cell(row *Row, key string, digits int, difference bool) string {
	from := row.Mean
	if difference {
		from = row.Difference
	}
	value, ok := from[key]
	if !ok {
		return "-"
	}
	text := strconv.FormatFloat(value.Mean, 'f', digits, 64)
	if difference {
		if value.Mean >= 0 {
			text = "+" + text
		}
		return text + " ±" + strconv.FormatFloat(value.Half, 'f', digits, 64)
	}
	return text
}

// span returns the range of some counts.
func span(values []int) string {
	low, high := values[0], values[0]
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	if low == high {
		return strconv.Itoa(low)
	}
	return fmt.Sprintf("%d to %d", low, high)
}

// spanOf returns the seeds as text.
func spanOf(seeds []uint64) string {
	var texts []string
	for i := 0; i < len(seeds); {
		end := i
		for end+1 < len(seeds) && seeds[end+1] == seeds[end]+1 {
			end++
		}
		if end > i {
			texts = append(texts, fmt.Sprintf("%d-%d", seeds[i], seeds[end]))
		} else {
			texts = append(texts, strconv.FormatUint(seeds[i], 10))
		}
		i = end + 1
	}
	return strings.Join(texts, ",")
}
