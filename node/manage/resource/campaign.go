package resource

import (
	"errors"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/campaigns"
	"github.com/gavel-ads/gavel/node/store"
)

// Places are where the members that rules about campaigns name lie in the bodies of an entry point.
type Places map[campaigns.Field][]any

// campaignErrors are the refusals of campaigns with their codes. Those without a text say what their code says.
var campaignErrors = []struct {
	err  error
	code apierr.Code
	text string
}{
	{campaigns.ErrNoVendor, apierr.InvalidVendor, ""},
	{campaigns.ErrVendorDeleted, apierr.InvalidOperation, campaigns.ErrVendorDeleted.Error()},
	{campaigns.ErrTerminated, apierr.InvalidOperation, campaigns.ErrTerminated.Error()},
	{campaigns.ErrReviewed, apierr.InvalidOperation, campaigns.ErrReviewed.Error()},
	{store.ErrExclusiveTaken, apierr.AlreadyExists, "another exclusive campaign has one of the products at this time"},
}

// CampaignErrorOf is ErrorOf for errors of the campaign service. A 422 lists the violations that the entry point has
// found itself after those of the service.
func CampaignErrorOf(err error, places Places, own ...Violation) error {
	if invalid, ok := errors.AsType[*campaigns.Invalid](err); ok {
		var found []Violation
		for _, f := range invalid.Faults {
			found = append(found, At(f.Kind, f.Text, append([]any{"body"}, places[f.Field]...)...))
		}
		return Invalid(append(found, own...)...)
	}
	for _, row := range campaignErrors {
		if errors.Is(err, row.err) {
			return Refuse(row.code, row.text)
		}
	}
	return ErrorOf(err)
}
