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
	r.recoveries(w)
	r.watched(w)
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

// recoveries writes how spend returned to its plan, if there were events.
func (r *Report) recoveries(w io.Writer) {
	if r.Rows[0].Recovery == nil {
		return
	}
	fmt.Fprintln(w, "\nAfter the events (constrained campaigns, all seeds together, spend / plan of the remaining budget)")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "policy\tminutes to within 10 %\tworst 5 min\t0-5 min\t10-15\t20-25\t30-35\t60-65\t120-125\t")
	for i := range r.Rows {
		x := r.Rows[i].Recovery
		fmt.Fprintf(t, "%s\t%s\t%s\t", r.Rows[i].Name(), decimal(x.Minutes, 0), decimal(x.Worst, 2))
		for _, window := range []int{0, 2, 4, 6, 12, 24} {
			fmt.Fprintf(t, "%s\t", decimal(x.Ratios[window], 2))
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush() // The caller's next write reports the same error.
}

// watched writes the results of the watched campaigns.
func (r *Report) watched(w io.Writer) {
	if len(r.Rows[0].Watched) == 0 {
		return
	}
	fmt.Fprintln(w, "\nCampaigns (means over the seeds)")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "campaign\tpolicy\tbudget\tbilled\twins\tclicks\t")
	for at := range r.Rows[0].Watched {
		for i := range r.Rows {
			x := &r.Rows[i].Watched[at]
			fmt.Fprintf(t, "%s\t%s\t%.2f\t%.2f\t%.0f\t%.1f\t\n", x.ID, r.Rows[i].Name(), x.Budget.Mean, x.Billed.Mean, x.Wins.Mean, x.Clicks.Mean)
		}
	}
	_ = t.Flush() // The caller's next write reports the same error.
}

// decimal returns a number that may be missing.
func decimal(v *float64, digits int) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'f', digits, 64)
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
