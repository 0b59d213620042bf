package resource

import (
	"context"

	"github.com/gavel-ads/gavel/node/apierr"
)

// A request may name the vendor of its object in the query, beside the id in the path. Whatever is named twice must agree, so another
// vendor is answered like an unknown one.

// Owned is the query parameter of operations on one object of a vendor.
type Owned struct {
	VendorID string `query:"vendor_id" maxLength:"255" doc:"If given, an object of another vendor is answered with 404."`
}

// ownerChecker is the input of an operation whose path names an object of a vendor. The kit calls it before the operation.
type ownerChecker interface {
	// CheckOwner returns an error if the query names another vendor than the one of the object. An object that does not exist is
	// no error; the operation answers that.
	CheckOwner(ctx context.Context) error
}

// SameVendor returns the refusal for an object of another vendor than the one that was named. No name is no claim.
func SameVendor(named, owner string) error {
	if named == "" || named == owner {
		return nil
	}
	return Refuse(apierr.InvalidVendor, "")
}

// CheckCampaign compares the vendor that was named with that of a campaign.
func (o *Owned) CheckCampaign(ctx context.Context, campaign string) error {
	if o.VendorID == "" {
		return nil
	}
	c, err := Tenant(ctx).Campaign(ctx, ParseUUID(campaign))
	if err != nil {
		return nil //nolint:nilerr // The operation finds the same error and answers it.
	}
	return SameVendor(o.VendorID, c.VendorID)
}

// checkOwner lets an operation run only on an object of the vendor that the request names.
func checkOwner[I, O any](serve func(context.Context, *I) (*O, error)) func(context.Context, *I) (*O, error) {
	if _, ok := any(new(I)).(ownerChecker); !ok {
		return serve
	}
	return func(ctx context.Context, in *I) (*O, error) {
		if err := any(in).(ownerChecker).CheckOwner(ctx); err != nil { //nolint:forcetypeassert // Checked above.
			return nil, err
		}
		return serve(ctx, in)
	}
}
