package billing

import (
	"context"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// ReversalList is one page of reversals.
type ReversalList struct {
	Reversals []Reversal `json:"reversals"`
	resource.Page
}

type (
	reversalsInput struct {
		Account string `query:"account" required:"true" minLength:"1" maxLength:"64" doc:"The wallet that has the amounts again."`
		DaysInput
		Limit    int    `query:"limit" minimum:"1" maximum:"100" default:"100"`
		NextPage string `query:"next_page"`
	}
	reversalsOutput struct{ Body ReversalList }
)

// listReversals pages by itself: a page ends after store.ReversalLinesMax lines of the wallet, though it may have no reversal then.
func listReversals(ctx context.Context, in *reversalsInput) (*reversalsOutput, error) {
	span, err := in.span(ctx)
	if err != nil {
		return nil, err
	}
	tenant := resource.Tenant(ctx)
	cursors := resource.CursorsFor(ctx, tenant.CursorKey(), "listReversals", in.Account, in.StartDate, in.EndDate)
	after, err := cursors.Decode(in.NextPage)
	if err != nil {
		return nil, err
	}
	w, err := tenant.Account(ctx, in.Account)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	all, next, err := tenant.Reversals(ctx, w.ID, span, store.Page{After: after, Limit: in.Limit})
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	out := &reversalsOutput{ReversalList{Reversals: make([]Reversal, len(all))}}
	for i := range all {
		out.Body.Reversals[i] = reversalOf(ctx, &all[i]).Body
	}
	if next != "" {
		out.Body.Page = resource.Page{HasMore: true, NextPage: cursors.Encode(next)}
	}
	return out, nil
}
