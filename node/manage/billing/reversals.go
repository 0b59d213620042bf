package billing

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/money"
)

const reversals = service + "/reversals"

// Tokens opens resolvedBidIds.
type Tokens interface {
	ChargeOf(marketplace uint16, resolvedBidID string) (serving.TokenCharge, apierr.Code)
}

type reversalService struct{ tokens Tokens }

// RegisterReversals mounts the reversals of charges.
func RegisterReversals(api huma.API, tokens Tokens) {
	s := reversalService{tokens}
	resource.Add(api, resource.Op{
		ID: "createReversal", Method: http.MethodPost, Status: http.StatusCreated, Path: reversals, Tag: tag,
		Doc: "Give back what a campaign was charged: one charge, or an amount. The wallet that paid has it again, the budget as far as " +
			"its current period was charged, and the reports lose it.",
	}, s.create)
	resource.Add(api, resource.Op{
		ID: "listReversals", Method: http.MethodGet, Path: reversals, Tag: tag,
		Doc: "List the reversals of a wallet, newest first. A page may have fewer than limit though hasMore is true.",
	}, listReversals)
	resource.Add(api, resource.Op{
		ID: "getReversal", Method: http.MethodGet, Path: reversals + "/{reversal_id}", Tag: tag, Doc: "Read one reversal.",
	}, getReversal)
}

// ReversalBody is a new reversal.
type ReversalBody struct {
	ResolvedBidID string `json:"resolvedBidId,omitempty" maxLength:"512" doc:"The charge to reverse. Either this or campaignId."`
	CampaignID    string `json:"campaignId,omitempty" format:"uuid" doc:"The campaign to give an amount back to, of no single charge."`
	Amount        int64  `json:"amount,omitempty" minimum:"1" maximum:"20000000000" doc:"Minor units. Required with campaignId; beside resolvedBidId the default is all of the charge that was not given back yet."`
	Reason        string `json:"reason" enum:"invalid_traffic,product_return,billing_error,goodwill"`
	Note          string `json:"note,omitempty" maxLength:"255"`
}

// Reversal is a reversal in answers.
type Reversal struct {
	ReversalID    string        `json:"reversalId" format:"uuid"`
	CampaignID    string        `json:"campaignId" format:"uuid"`
	WalletID      string        `json:"walletId" format:"uuid" doc:"The wallet that has the amount again."`
	Amount        int64         `json:"amount" doc:"Minor units, rounded down."`
	AmountDecimal string        `json:"amountDecimal" doc:"The exact amount in minor units."`
	BudgetAmount  int64         `json:"budgetAmount" doc:"The part of the amount that the campaign may spend again in the current period of its budget, in minor units, rounded down."`
	Reason        string        `json:"reason" enum:"invalid_traffic,product_return,billing_error,goodwill"`
	Note          string        `json:"note"`
	Author        string        `json:"author" doc:"Who asked for it: key: and the id of an API key, or user: and the id of a user."`
	CreatedAt     resource.Time `json:"createdAt"`
}

type (
	reversalInput  struct{ Body ReversalBody }
	reversalOutput struct{ Body Reversal }
	oneReversal    struct {
		ReversalID string `path:"reversal_id" format:"uuid"`
	}
)

// reasonWords are the reasons as the API has them, by command.Reason.
var reasonWords = [command.Reasons]string{"invalid_traffic", "product_return", "billing_error", "goodwill"}

func reasonOf(word string) (r command.Reason) {
	for i := range reasonWords {
		if reasonWords[i] == word { // The kit has checked that it is one of them.
			r = command.Reason(i)
		}
	}
	return r
}

func reversalOf(ctx context.Context, r *shard.Reversal) *reversalOutput {
	exponent := resource.Tenant(ctx).Settings().CurrencyExponent
	return &reversalOutput{Reversal{
		ReversalID: r.ID.String(), CampaignID: r.Campaign.String(), WalletID: r.Wallet.String(),
		Amount: money.MinorFloor(r.Amount, exponent), AmountDecimal: string(money.AppendMinorDecimal(nil, r.Amount, exponent)),
		BudgetAmount: money.MinorFloor(r.OfPeriod, exponent), Reason: reasonWords[r.Reason], Note: r.Note, Author: r.Author,
		CreatedAt: resource.Time(r.Millis),
	}}
}

func (s reversalService) create(ctx context.Context, in *reversalInput) (*reversalOutput, error) {
	b := &in.Body
	caller := resource.CallerOf(ctx)
	amount, err := money.FromMinor(b.Amount, caller.Tenant.Settings().CurrencyExponent)
	if err != nil {
		return nil, resource.Invalid(resource.At("less_than_equal", "is out of range", "body", "amount"))
	}
	about := store.About{Reason: reasonOf(b.Reason), Author: caller.Name(), Note: b.Note}
	var r shard.Reversal
	switch {
	case (b.ResolvedBidID == "") == (b.CampaignID == ""):
		return nil, resource.Invalid(resource.At("value_error", "must be given, or campaignId, and not both", "body", "resolvedBidId"))
	case b.CampaignID == "":
		charge, code := s.tokens.ChargeOf(caller.Marketplace, b.ResolvedBidID)
		if code != apierr.OK {
			return nil, &resource.Problem{Code: code}
		}
		r, err = caller.Tenant.ReverseCharge(ctx, store.ChargeName(charge), amount, about)
		if errors.Is(err, store.ErrNotFound) {
			return nil, resource.Refuse(apierr.ResourceNotFound, "no charge of this resolvedBidId is known: there was none, or the time "+
				"in which it could be charged has passed; an older charge is reversed with campaignId and amount")
		}
	case amount == 0:
		return nil, resource.Invalid(resource.At("missing", "is required with campaignId", "body", "amount"))
	default:
		r, err = caller.Tenant.ReverseAmount(ctx, resource.ParseUUID(b.CampaignID), amount, about)
	}
	if errors.Is(err, store.ErrExceedsCharge) {
		return nil, resource.Refuse(apierr.InvalidOperation, "more than was charged and not given back yet")
	}
	if err != nil {
		return nil, resource.LimitErrorOf(err, "the amount was charged in more than 1000 hours and bids; reverse it in several parts")
	}
	return reversalOf(ctx, &r), nil
}

func getReversal(ctx context.Context, in *oneReversal) (*reversalOutput, error) {
	r, err := resource.Tenant(ctx).Reversal(ctx, resource.ParseUUID(in.ReversalID))
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return reversalOf(ctx, &r), nil
}
