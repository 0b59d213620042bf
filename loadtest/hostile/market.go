//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/gavel-ads/gavel/bench/traffic"
	"github.com/gavel-ads/gavel/loadtest/hostile/attack"
	"github.com/gavel-ads/gavel/loadtest/scenarios"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

// bystanderName is the marketplace of an honest tenant.
const bystanderName = "bystander"

// makeTenants makes a marketplace for each attacker that needs one, and one for the bystander.
func makeTenants(ctx context.Context, n *node, kinds []attack.Kind) (map[string]attack.Tenant, error) {
	from := attack.NewSources(0)
	api := attack.NewClient(n.manage, n.managementKey, from)
	defer api.Close()
	names := []string{bystanderName}
	for _, k := range kinds {
		if k.Keyed {
			names = append(names, k.Name)
		}
	}
	all := map[string]attack.Tenant{}
	for _, name := range names {
		body := fmt.Sprintf(`{"name":%q,"currencyCode":"EUR"}`, name)
		answer, err := api.Need(ctx, "POST", "/public/v1/marketplace-service/marketplaces", []byte(body))
		if err != nil {
			return nil, err
		}
		var t attack.Tenant
		if err := json.Unmarshal(answer, &t); err != nil {
			return nil, err
		}
		all[name] = t
	}
	return all, nil
}

// fill creates the market of the seed on the node and returns the settings of the storefront's traffic for it. Budgets and deposits do not
// run out, so that every acknowledged click is a charge.
func fill(ctx context.Context, o options, n *node) (operator *shop.Client, env *scenarios.Env, err error) {
	size := traffic.Small
	if o.quick {
		size = traffic.MarketSpec{Products: 500, Vendors: 5, Categories: 5, Campaigns: 10, BidsPerCampaign: 50}
	}
	market := traffic.NewMarket(size, o.seed)
	operator = shop.New("http://"+n.manage, n.managementKey)
	run := "h" + strconv.FormatInt(time.Now().UnixMilli(), 36)
	terms := shop.Terms{BudgetMinor: 20_000_000_000, DepositMinor: 1_000_000_000_000}
	if _, err := operator.Fill(ctx, market, terms, run); err != nil {
		return nil, nil, err
	}
	env = &scenarios.Env{
		Seed: o.seed, Run: run, Auctions: 1, IDs: 50, Slots: 4, Events: 50, Dial: dialer(n), Now: time.Now,
	}
	seen := map[int]bool{}
	for _, c := range market.Campaigns {
		for _, b := range c.Bids {
			if !seen[b.Product] {
				seen[b.Product] = true
				env.Products = append(env.Products, market.Products[b.Product].ID)
			}
		}
	}
	return operator, env, nil
}
