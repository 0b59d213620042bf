package daemon

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/gavel-ads/gavel/node/campaigns"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

// demoOperator stands in the audit log for the key of the demo's operator, who has none.
const demoOperator = "demo"

// vendorCampaignsMax is among how many campaigns of a vendor one is looked for by its name. BOUND: far more than a vendor of a
// demo has.
const vendorCampaignsMax = 1_000

// change is a change of the demo's operator, as the audit log describes it.
type change struct {
	operation, method, path string
	before, after           any // nil: none.
}

// TopUp deposits an amount into the default wallet of a vendor, if its balance is below a limit.
func (p *past) TopUp(ctx context.Context, vendorID string, below, amount money.Micros) error {
	wallets, err := p.tenant.Wallets(ctx, vendorID)
	if err != nil || wallets[0].Balance >= below {
		return err
	}
	c := change{operation: "addBalance", method: http.MethodPost, path: "/public/v1/billing-service/vendors/" + vendorID + "/balance"}
	c.after = map[string]any{"balance": (wallets[0].Balance + amount) / money.PerMajor}
	return p.audited(ctx, &c, func(ctx context.Context) error {
		_, err := p.tenant.Adjust(ctx, vendorID, ids.UUID{}, amount, false, "weekly top-up")
		return err
	})
}

// SetBudget changes the budget of a campaign.
func (p *past) SetBudget(ctx context.Context, vendorID, campaign string, budget money.Micros) error {
	now, err := p.campaign(ctx, vendorID, campaign)
	if err != nil {
		return err
	}
	amount := func(m money.Micros) any {
		return map[string]any{"budget": map[string]any{"amount": m / money.PerMinor(2)}}
	}
	return p.patch(ctx, &now, amount(now.Campaign.Budget), amount(budget), command.PatchCampaign{Budget: &budget})
}

// SetActive pauses or resumes a campaign.
func (p *past) SetActive(ctx context.Context, vendorID, campaign string, active bool) error {
	now, err := p.campaign(ctx, vendorID, campaign)
	if err != nil {
		return err
	}
	state := func(active bool) any { return map[string]any{"isActive": active} }
	return p.patch(ctx, &now, state(now.Active), state(active), command.PatchCampaign{Active: &active})
}

// campaign finds a campaign of a vendor by its name.
func (p *past) campaign(ctx context.Context, vendorID, name string) (store.CampaignState, error) {
	all, _, err := p.tenant.Campaigns(ctx, store.CampaignFilter{VendorID: vendorID, Limit: vendorCampaignsMax})
	at := slices.IndexFunc(all, func(c store.CampaignState) bool { return c.Name == name })
	if err != nil || at < 0 {
		return store.CampaignState{}, fmt.Errorf("campaign %q of vendor %s: %w", name, vendorID, orNotFound(err))
	}
	return all[at], nil
}

func orNotFound(err error) error {
	if err == nil {
		return store.ErrNotFound
	}
	return err
}

// patch changes a campaign by the rules for every entry point.
func (p *past) patch(ctx context.Context, now *store.CampaignState, before, after any, members command.PatchCampaign) error {
	c := change{"patchCampaign", http.MethodPatch, "/public/v1/campaign-service/campaigns/" + now.ID.String(), before, after}
	return p.audited(ctx, &c, func(ctx context.Context) error {
		return campaigns.Patch(ctx, p.tenant, now.ID, &campaigns.Changes{Members: members})
	})
}

// audited makes a change with its entry in the audit log.
func (p *past) audited(ctx context.Context, c *change, do func(context.Context) error) error {
	before, err := jsonOf(c.before)
	if err != nil {
		return err
	}
	after, err := jsonOf(c.after)
	if err != nil {
		return err
	}
	request := store.NewAuditRequest(p.tenant.Marketplace(), store.AuditEntry{
		Millis: p.now().UnixMilli(), KeyID: demoOperator, Operation: c.operation, Method: c.method, Path: c.path,
		RequestID: rand.Text(), Before: before,
	})
	if err := do(store.WithAudit(ctx, request)); err != nil {
		return err
	}
	entry, _ := request.End(http.StatusOK, after)
	return p.tenant.Audit(ctx, []store.AuditEntry{entry})
}

// jsonOf returns a value as JSON, nothing for nil.
func jsonOf(value any) (json.RawMessage, error) {
	if value == nil {
		return nil, nil
	}
	return json.Marshal(value)
}
