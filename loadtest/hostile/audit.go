//go:build linux

package main

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/loadtest/hostile/attack"
)

const (
	auditPatience = 30 * time.Second // BOUND: how long an entry may come after its change.
	auditPage     = "50"             // An entry of the attackers has up to 100 KB, and an answer is read up to 8 MiB.
	auditPagesMax = 4_000            // BOUND: twice the entries that a marketplace keeps.
)

// audited compares the changes that were acknowledged with the audit log of their marketplace and returns those without an entry. Each
// change wrote a name of its own, which its entry keeps.
func audited(ctx context.Context, n *node, t attack.Tenant, marks []string) (missing []string, err error) {
	api := attack.NewClient(n.manage, t.ManagementKey, attack.NewSources(0))
	defer api.Close()
	for deadline := time.Now().Add(auditPatience); ; {
		found, err := auditNames(ctx, api)
		if err != nil {
			return nil, err
		}
		missing = missingFrom(found, marks)
		if len(missing) == 0 || time.Now().After(deadline) {
			return missing, nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return missing, ctx.Err()
		}
	}
}

func missingFrom(found map[string]bool, marks []string) []string {
	return slices.DeleteFunc(slices.Clone(marks), func(m string) bool { return found[m] })
}

// auditNames reads the whole log, page by page, and returns the names that changes of campaigns left behind.
func auditNames(ctx context.Context, api *attack.Client) (map[string]bool, error) {
	found := map[string]bool{}
	cursor := ""
	for range auditPagesMax {
		query := url.Values{"limit": {auditPage}, "operation": {"patchCampaign"}}
		if cursor != "" {
			query.Set("next_page", cursor)
		}
		answer, err := api.Need(ctx, "GET", publicPath+"/audit-service/entries?"+query.Encode(), nil)
		if err != nil {
			return nil, err
		}
		var page struct {
			Entries []struct {
				After struct{ Name string }
			}
			HasMore  bool
			NextPage string
		}
		if err := json.Unmarshal(answer, &page); err != nil {
			return nil, err
		}
		for _, e := range page.Entries {
			found[e.After.Name] = true
		}
		if !page.HasMore {
			break
		}
		cursor = page.NextPage
	}
	return found, nil
}
