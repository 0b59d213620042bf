package fsck

import (
	"fmt"
	"io"
	"strings"
)

// WriteText prints the report as text: a block per group, then notes and problems.
func (r *Report) WriteText(w io.Writer) error {
	var t strings.Builder
	fmt.Fprintf(&t, "node %s of cluster %s\n", r.Node, r.Cluster)
	for i := range r.Groups {
		r.Groups[i].write(&t)
	}
	if r.InTransit > 0 {
		fmt.Fprintf(&t, "%d transfers with a sum of %s are in transit between groups\n", r.InTransit, units(r.InTransitMicros))
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&t, "note: %s\n", note)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&t, "PROBLEM: %s: %s\n", p.Place, p.What)
	}
	if r.ProblemsOmitted > 0 {
		fmt.Fprintf(&t, "and %d more problems\n", r.ProblemsOmitted)
	}
	if r.Clean() {
		fmt.Fprintln(&t, "every balance matches the journal; no problem found")
	} else {
		fmt.Fprintf(&t, "%d problems found\n", len(r.Problems)+r.ProblemsOmitted)
	}
	_, err := io.WriteString(w, t.String())
	return err
}

func (g *Group) write(t *strings.Builder) {
	fmt.Fprintf(t, "group %d: entry %d in %s, digest %s, feature level %d\n", g.Group, g.Applied, g.Source, g.Digest, g.Level)
	fmt.Fprintf(t, "  %d records; %d campaigns, %d wallets; %d event keys and %d charge keys\n",
		g.Records, g.Campaigns, g.Wallets, g.EventKeys, g.ChargeKeys)
	fmt.Fprintf(t, "  journal: %d lines, %d charges; %s charged, %s deposited, %d transfers\n", g.Lines, g.Charges,
		units(g.Charged), units(g.Deposited), g.Transfers)
	fmt.Fprintf(t, "  raft log: entries %d to %d with %d commands; %d snapshots\n", g.LogFirst, g.LogLast, g.Commands, g.Snapshots)
}

// units formats an amount given in millionths of the currency's unit.
func units(micros int64) string {
	sign := ""
	abs := uint64(micros) // Made positive below.
	if micros < 0 {
		sign, abs = "-", -abs
	}
	return fmt.Sprintf("%s%d.%06d", sign, abs/1_000_000, abs%1_000_000)
}
