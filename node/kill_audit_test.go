package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/gavel-ads/gavel/loadtest/driver"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

// faultsMax bounds how many faults of each kind one audit describes.
const faultsMax = 20

// audit compares reports and balances with the history, and then resends what was acknowledged since the last audit:
// the node must know everything already. The order matters, because resending a lost event records it again, which
// hides the loss in the reports. REQUIRES: no outcome is unknown.
func (c *crash) audit(when string) {
	c.t.Helper()
	differences := c.compareMoney()
	lost := c.resend(c.history.unaudited())
	c.report(when, lost, differences)
}

// finalAudit resends the whole history: what a node had after one kill it must have after all of them.
func (c *crash) finalAudit() {
	c.t.Helper()
	lost := c.resend(c.history.everything())
	c.report("at the end, all bodies resent", lost, c.compareMoney())
}

// report ends the test when events were lost or the reports differ. It prints the first faultsMax of each, because many faults of
// one kind must not hide the other.
func (c *crash) report(when string, lost, differences []string) {
	c.t.Helper()
	if len(lost)+len(differences) == 0 {
		return
	}
	shown := append(slices.Clip(lost[:min(len(lost), faultsMax)]), differences[:min(len(differences), faultsMax)]...)
	c.t.Fatalf("%s: %d lost, %d differences\n%s", when, len(lost), len(differences), strings.Join(shown, "\n"))
}

// resend sends bodies again with detail=true and returns the events that the node did not know. A node that kept its
// promise answers duplicate for each.
func (c *crash) resend(bodies []*body) []string {
	c.t.Helper()
	c.history.mu.Lock()
	c.history.stats.resent += len(bodies)
	killedAt := c.history.killedAt
	c.history.mu.Unlock()
	faults := make(chan string, faultsMax)
	var count atomic.Int64
	c.load.each(c.t, bodies, func(conn *driver.Conn, b *body) error {
		lost, err := lostEvents(conn, b)
		for _, id := range lost {
			count.Add(1)
			select {
			case faults <- fmt.Sprintf("LOST %s: acknowledged %v before the last kill, unknown when it was resent", id, killedAt.Sub(b.acked)):
			default:
			}
		}
		return err
	})
	close(faults)
	var all []string
	for f := range faults {
		all = append(all, f)
	}
	if more := int(count.Load()) - len(all); more > 0 {
		all = append(all, fmt.Sprintf("and %d more events lost", more))
	}
	return all
}

// lostEvents resends one body and returns the events that the answer does not call duplicates.
func lostEvents(c *driver.Conn, b *body) ([]string, error) {
	status, answer, err := c.Post("/v2/events?detail=true", b.text)
	if err != nil || status != http.StatusOK {
		return nil, fmt.Errorf("resending an acknowledged body: %d %.300s %w", status, answer, err)
	}
	var details map[string][]struct{ ID, Status string }
	if err := json.Unmarshal(answer, &details); err != nil {
		return nil, fmt.Errorf("%w in %.300s", err, answer)
	}
	var lost []string
	var sent [kinds]int
	for _, e := range b.events {
		list, i := details[kindNames[e.kind]], sent[e.kind]
		sent[e.kind]++
		if i >= len(list) || list[i].ID != e.id {
			return nil, fmt.Errorf("the answer has no detail of %s[%d] %s: %.300s", kindNames[e.kind], i, e.id, answer)
		}
		if list[i].Status != "duplicate" {
			lost = append(lost, fmt.Sprintf("%s %s (%s)", kindNames[e.kind], e.id, list[i].Status))
		}
	}
	return lost, nil
}

// compareMoney reads reports, campaigns and wallets and returns every difference to what follows from the history.
func (c *crash) compareMoney() []string {
	c.t.Helper()
	operator := shop.New(c.node.ManageURL, c.node.Keys.ManagementKey)
	accepted := c.history.last()
	listed, err := operator.Campaigns(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	used := map[string]shop.Micros{}
	for _, l := range listed {
		if l.Budget != nil {
			used[l.ID] = minor(l.Budget.AmountUsed)
		}
	}
	var faults []string
	for _, s := range c.stage.sellers {
		b := sellerMoney{seller: s}
		if b.balance, err = operator.Balance(c.t.Context(), s.id); err != nil {
			c.t.Fatal(err)
		}
		for _, campaign := range s.campaigns {
			r, err := operator.CompleteReport(c.t.Context(), campaign.id, accepted)
			if err != nil {
				c.t.Fatal(err)
			}
			line, err := newLine(campaign, r)
			if err != nil {
				c.t.Fatal(err)
			}
			if line.used = used[campaign.id]; campaign.budget == 0 {
				line.used = line.spent
			}
			b.lines = append(b.lines, line)
		}
		faults = append(faults, b.check()...)
	}
	return faults
}
