//go:build linux

package main

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/loadtest/hostile/attack"
)

const (
	auditWaitMax  = 30 * time.Second // BOUND: how long after its change an entry may appear.
	auditPage     = "50"             // An entry of the attackers has up to 100 KB, and at most 8 MiB of an answer are read.
	auditPagesMax = 4_000            // BOUND: twice the entries that a marketplace keeps.
)

// audited compares the acknowledged changes with the audit log of their marketplace. It returns the marks of changes without an entry, and how
// many entries do not say what was answered. Each change has its own mark in its URL, which its entry contains.
func audited(ctx context.Context, n *node, t attack.Tenant, marks []string) (missing []string, unanswered int, err error) {
	api := attack.NewClient(n.manage, t.ManagementKey, attack.NewSources(0))
	defer api.Close()
	for deadline := time.Now().Add(auditWaitMax); ; {
		found, err := auditEntries(ctx, api)
		if err != nil {
			return nil, 0, err
		}
		missing, unanswered = compareMarks(found, marks)
		if len(missing)+unanswered == 0 || time.Now().After(deadline) {
			return missing, unanswered, nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return missing, unanswered, ctx.Err()
		}
	}
}

// compareMarks returns the marks without an entry, and counts those whose entry does not say that the change was made.
func compareMarks(found map[string]bool, marks []string) (missing []string, unanswered int) {
	for _, m := range marks {
		if answered, has := found[m]; !has {
			missing = append(missing, m)
		} else if !answered {
			unanswered++
		}
	}
	return missing, unanswered
}

// auditEntries reads the whole log, page by page, and returns the marks of its changes of campaigns, with whether the entry says that the
// change was answered 2xx. The body of the answer is not compared: it is the campaign as it was read after the change, which may have the
// name of a later change.
func auditEntries(ctx context.Context, api *attack.Client) (map[string]bool, error) {
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
				Path   string
				Status int
			}
			HasMore  bool
			NextPage string
		}
		if err := json.Unmarshal(answer, &page); err != nil {
			return nil, err
		}
		for _, e := range page.Entries {
			_, mark, _ := strings.Cut(e.Path, "?mark=")
			found[mark] = found[mark] || e.Status/100 == 2
		}
		if !page.HasMore {
			break
		}
		cursor = page.NextPage
	}
	return found, nil
}
