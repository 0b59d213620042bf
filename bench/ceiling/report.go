package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
)

// printTable prints the results as a table, with "met" or "missed" for each goal.
func printTable(w io.Writer, results []result, pinned bool) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "auctions x ids\tbytes in\tbytes out\tbare µs\tgavel µs\tratio\trounds\tgoal\t\tallocs\tanswers checked\t")
	for _, r := range results {
		low, high := r.spread(bareServer, gavelServer)
		ratio, outcome := r.ratio(bareServer, gavelServer), "met"
		if ratio < r.goal {
			outcome = "missed"
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%.1f\t%.1f\t%.2f\t%.2f-%.2f\t%.2f\t%s\t%.4f\t%d\t\n", r.name(), r.requestBytes, r.answerBytes,
			median(r.cpu[bareServer])/1000, median(r.cpu[gavelServer])/1000, ratio, low, high, r.goal, outcome, r.allocs, r.checked)
		if len(r.cpu) > rivalServer {
			low, high = r.spread(rivalServer, gavelServer)
			fmt.Fprintf(t, "rival\t\t\t\t%.1f\t%.2f\t%.2f-%.2f\t\t\t\t\t\n", median(r.cpu[rivalServer])/1000,
				r.ratio(rivalServer, gavelServer), low, high)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	where := "not pinned (pinning needs Linux and two CPUs)"
	if pinned {
		where = fmt.Sprintf("servers pinned to CPU %d, generator to CPU %d", serverCPU, clientCPU)
	}
	_, err := fmt.Fprintf(w, "\nCPU time of the server process per request (user and system), median of %d alternating rounds of %v; %d bids;\n"+
		"%d connections on loopback; ratio = bare / gavel (in a rival's line rival / gavel); %s.\n", rounds, roundTime, bids, connections, where)
	return err
}

// printJSON prints the results as a JSON object.
func printJSON(w io.Writer, results []result) error {
	type shapeResult struct {
		Ratio  float64 `json:"ratio"`
		Allocs float64 `json:"allocs"`
	}
	cases := map[string]shapeResult{}
	for _, r := range results {
		cases[r.name()] = shapeResult{Ratio: rounded(r.ratio(bareServer, gavelServer), 1000), Allocs: rounded(r.allocs, 10_000)}
	}
	return json.NewEncoder(w).Encode(map[string]any{"cases": cases})
}

func rounded(v, parts float64) float64 { return math.Round(v*parts) / parts }
