package catalog

import (
	"context"
	"encoding/json"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/model"
)

// VendorBody is a vendor as the marketplace sends it.
type VendorBody struct {
	ID               string  `json:"id" minLength:"1" maxLength:"255"`
	Name             string  `json:"name" minLength:"1" maxLength:"255"`
	ImageURL         *string `json:"imageURL,omitempty" maxLength:"2083"`
	VendorRole       string  `json:"vendor_role,omitempty" enum:"admin,analytics" doc:"Default admin."`
	MerchantCenterID *string `json:"merchant_center_id,omitempty" maxLength:"255"`
	GlobalID         *string `json:"globalId,omitempty" maxLength:"255"`
}

// Vendor is a vendor in answers.
type Vendor struct {
	VendorBody
	CreatedAt resource.Time `json:"createdAt"`
	UpdatedAt resource.Time `json:"updatedAt"`
}

// VendorsBody is the body of an upsert.
type VendorsBody struct {
	Vendors []VendorBody `json:"vendors" minItems:"1" maxItems:"500"`
}

// VendorList is one page of vendors.
type VendorList struct {
	Response []Vendor `json:"response"`
	resource.Page
}

type (
	vendorsInput     struct{ Body VendorsBody }
	vendorOutput     struct{ Body Vendor }
	vendorListOutput struct{ Body VendorList }
)

func (s service) putVendors(ctx context.Context, in *vendorsInput) (*resource.Done, error) {
	st, now := resource.Tenant(ctx), s.now().UnixMilli()
	created, err := createdTimes(each(in.Body.Vendors, func(b VendorBody) string { return b.ID }),
		func(p store.Page, ids []string) ([]model.Vendor, bool, error) { return st.Vendors(ctx, p, ids) },
		func(v *model.Vendor) (string, int64) { return v.ID, v.CreatedMillis })
	if err != nil {
		return nil, err
	}
	all := make([]model.Vendor, len(in.Body.Vendors))
	for i := range in.Body.Vendors {
		b := &in.Body.Vendors[i]
		if b.VendorRole == "" {
			b.VendorRole = "admin"
		}
		all[i] = model.Vendor{ID: b.ID, Name: b.Name, Document: mustMarshal(b)}
		all[i].CreatedMillis, all[i].UpdatedMillis = timestamps(created, b.ID, now)
	}
	return done(st.PutVendors(ctx, all))
}

func vendorAnswer(v model.Vendor) Vendor {
	b := VendorBody{ID: v.ID, Name: v.Name, VendorRole: "admin"}
	if len(v.Document) > 0 {
		if err := json.Unmarshal(v.Document, &b); err != nil {
			panic("stored vendor " + v.ID + " is not JSON: " + err.Error())
		}
	}
	return Vendor{b, resource.Time(v.CreatedMillis), resource.Time(v.UpdatedMillis)}
}

func getVendor(ctx context.Context, in *itemInput) (*vendorOutput, error) {
	v, err := resource.Tenant(ctx).Vendor(ctx, in.ID)
	if err != nil {
		return nil, resource.VendorErrorOf(err)
	}
	return &vendorOutput{vendorAnswer(v)}, nil
}

func listVendors(ctx context.Context, in *PageInput) (*vendorListOutput, error) {
	s := resource.Tenant(ctx)
	all, end, err := page(ctx, in, "listVendors", "",
		func(v model.Vendor) string { return v.ID },
		func(p store.Page) ([]model.Vendor, bool, error) { return s.Vendors(ctx, p, in.IDs) })
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &vendorListOutput{VendorList{each(all, vendorAnswer), end}}, nil
}

func deleteVendors(ctx context.Context, in *deleteInput) (*resource.Done, error) {
	ids, err := in.ids()
	if err != nil {
		return nil, err
	}
	return done(resource.Tenant(ctx).DeleteVendors(ctx, ids))
}
