//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gavel-ads/gavel/loadtest/nemesis/check"
	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

// audit runs gavel check on the data directory of every stopped node, which recomputes everything from the journal, and compares the
// result with what the cluster reported while it ran.
func (r *run) audit(ctx context.Context, final *check.FinalState) check.Result {
	v := check.Result{Check: "offline audit of every node equals the report"}
	for _, n := range r.w.Nodes {
		var complaint strings.Builder
		cmd := exec.CommandContext(ctx, r.o.binary, "check", "--data-dir", n.Disk.Data(), "--json")
		cmd.Stderr = &complaint
		text, err := cmd.Output()
		if keep := os.WriteFile(filepath.Join(r.dir, n.ID+"-audit.json"), text, 0o600); keep != nil {
			err = errors.Join(err, keep)
		}
		if err != nil {
			v.AddViolation("%s: %v: %.500s\n%.2000s", n.ID, err, complaint.String(), text)
			continue
		}
		compared, faults := compareAudit(text, r.h, final)
		v.Checked += compared
		for _, f := range faults {
			v.AddViolation("%s: %s", n.ID, f)
		}
	}
	return v
}

// audited is the part of the output of gavel check that is compared.
type audited struct {
	Groups    []struct{ Reversals int }
	Campaigns []struct {
		ID                                      string
		Spent                                   shop.Micros `json:"spentMicros"`
		Impressions, ChargedImpressions, Clicks int64
		ChargedClicks, ChargedPurchases         int64
	}
	Wallets []struct {
		Vendor  string
		Balance shop.Micros `json:"balanceMicros"`
	}
}

// compareAudit compares the audit of one node with the last reports of the cluster.
func compareAudit(text []byte, h *history.History, final *check.FinalState) (compared int, faults []string) {
	var a audited
	if err := json.Unmarshal(text, &a); err != nil {
		return 0, []string{fmt.Sprintf("%v in %.300s", err, text)}
	}
	campaigns := map[string]*history.Campaign{}
	for _, c := range h.Campaigns() {
		campaigns[c.ID] = c
	}
	for _, got := range a.Campaigns {
		c := campaigns[got.ID]
		if c == nil {
			faults = append(faults, "a campaign that nobody created: "+got.ID)
			continue
		}
		delete(campaigns, got.ID)
		r := final.Reports[c]
		want := fmt.Sprint(r.Billed(), r.Total[:history.Purchase], r.Charged)
		have := fmt.Sprint(got.Spent, []int64{got.Impressions, got.Clicks}, []int64{got.ChargedImpressions, got.ChargedClicks, got.ChargedPurchases})
		if have != want {
			faults = append(faults, fmt.Sprintf("campaign %s: spent, events and charges are %s by the journal and %s by the report", c.Name, have, want))
		}
		compared++
	}
	for _, c := range campaigns {
		faults = append(faults, fmt.Sprintf("campaign %s is not in the journal", c.Name))
	}
	if fault := compareReversals(&a, h); fault != "" {
		faults = append(faults, fault)
	}
	balances := map[string]shop.Micros{}
	for _, w := range a.Wallets {
		balances[w.Vendor] += w.Balance
	}
	for _, v := range h.Vendors {
		if got := balances[v.ID]; got != final.Balances[v] {
			faults = append(faults, fmt.Sprintf("wallet of %s: %v by the journal, %v by the report", v.ID, got, final.Balances[v]))
		}
		compared++
	}
	return compared, faults
}

// compareReversals compares how many reversals the journal has with how many were answered. It returns what differs.
func compareReversals(a *audited, h *history.History) string {
	least, most, got := 0, 0, 0
	for _, x := range h.Reversed {
		switch {
		case x.Outcome == history.OK:
			least, most = least+1, most+1
		case x.Outcome == history.Unknown || x.Doubtful:
			most++
		}
	}
	for _, g := range a.Groups {
		got += g.Reversals
	}
	if got < least || got > most {
		return fmt.Sprintf("%d reversals by the journal, %d to %d by their answers", got, least, most)
	}
	return ""
}
