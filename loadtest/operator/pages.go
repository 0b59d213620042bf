package main

import (
	"strings"
	"time"
)

// consolePage is what a page of the console asks the node for while it is open.
type consolePage struct {
	name   string
	weight int    // How many of 20 consoles show the page.
	stream string // The path of its stream of events; empty: it has none.
	reads  []consoleRead
}

// consoleRead is a request that an open page repeats.
type consoleRead struct {
	path   string
	every  time.Duration
	source string // The file below web/src/pages that states the interval. A test compares them.
}

const (
	liveStream = "/live?marketplace={marketplace}"
	thisMonth  = "start_date={month}&end_date={today}"
)

// consolePages are what people leave open: the pages that show what changes. Requests that a page sends once are left out, because an open
// page has sent them.
var consolePages = []consolePage{
	{name: "overview", weight: 6, stream: liveStream + "&samples=none", reads: []consoleRead{
		{"/v1/reporting-service/marketplace/daily?" + thisMonth + "&limit=100", 30 * time.Second, "Overview.tsx"},
		{"/cluster", 30 * time.Second, "ClusterHealth.tsx"},
	}},
	{name: "live auctions", weight: 4, stream: liveStream + "&samples=auctions"},
	{name: "events", weight: 1, stream: liveStream + "&samples=events"},
	{name: "explained auctions", weight: 1, stream: liveStream + "&samples=auctions", reads: []consoleRead{
		{"/v1/auctions/recent?consistency=local" + afterNewest, 3 * time.Second, "ExplainedRequests.tsx"},
	}},
	{name: "campaigns", weight: 4, reads: []consoleRead{
		{"/v1/campaign-service/campaigns?limit=25&offset=0", 15 * time.Second, "Campaigns.tsx"},
	}},
	{name: "one campaign", weight: 2, reads: []consoleRead{
		{"/v1/campaign-service/campaigns/{campaign}", 10 * time.Second, "Campaign.tsx"},
		{"/v1/reporting-service/campaigns/{campaign}?" + thisMonth, 15 * time.Second, "CampaignPerformance.tsx"},
		{"/v1/reporting-service/campaigns/{campaign}/daily?" + thisMonth + "&limit=100", 30 * time.Second, "CampaignPerformance.tsx"},
	}},
	{name: "one vendor", weight: 1, reads: []consoleRead{
		{"/v1/billing-service/vendors/{vendor}/wallets", 10 * time.Second, "Vendor.tsx"},
	}},
	{name: "cluster", weight: 1, reads: []consoleRead{{"/cluster", 5 * time.Second, "Cluster.tsx"}}},
}

// afterNewest asks only for requests that are newer than the newest one of the answer before, as the page does.
const afterNewest = "{after}"

// pagesOf returns the page of each of a number of consoles: those of the weights, or all of them the page with a name. It reports false for
// a name that no page has.
func pagesOf(name string, consoles int) (all []*consolePage, known bool) {
	var mix []*consolePage
	for i := range consolePages {
		p := &consolePages[i]
		weight := p.weight
		if name != "" {
			weight = 0
			if p.name == name {
				weight = 1
			}
		}
		for range weight {
			mix = append(mix, p)
		}
	}
	if len(mix) == 0 {
		return nil, false
	}
	for i := range consoles {
		all = append(all, mix[i%len(mix)])
	}
	return all, true
}

// describe lists how many consoles show which page.
func describe(all []*consolePage) string {
	var parts []string
	for i := range consolePages {
		count := 0
		for _, p := range all {
			if p == &consolePages[i] {
				count++
			}
		}
		if count > 0 {
			parts = append(parts, plural(count, consolePages[i].name))
		}
	}
	return strings.Join(parts, ", ")
}
