package audience

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// OffsiteNetworks is one network or an array of them.
type OffsiteNetworks []string

var advertiserNetworks = []any{"google_ads", "meta"}

// Schema describes both forms. The network has a name in the description, because generators make a type of every list of words.
func (OffsiteNetworks) Schema(r huma.Registry) *huma.Schema {
	const name = "offsite.AdvertiserNetwork"
	least, most := 1, len(advertiserNetworks)
	r.Map()[name] = &huma.Schema{Type: huma.TypeString, Enum: advertiserNetworks}
	one := &huma.Schema{Ref: "#/components/schemas/" + name}
	return &huma.Schema{OneOf: []*huma.Schema{one, {Type: huma.TypeArray, Items: one, MinItems: &least, MaxItems: &most}}}
}

// UnmarshalJSON reads either form.
func (n *OffsiteNetworks) UnmarshalJSON(text []byte) error {
	if text[0] == '[' {
		return json.Unmarshal(text, (*[]string)(n))
	}
	*n = make([]string, 1)
	return json.Unmarshal(text, &(*n)[0])
}

// OffsiteAdvertiserBody requests the registration of a vendor with networks.
type OffsiteAdvertiserBody struct {
	VendorID         string             `json:"vendorId" minLength:"1" maxLength:"255"`
	DSP              OffsiteNetworks    `json:"dsp,omitempty" doc:"Absent: every connected network."`
	BillingMode      string             `json:"billingMode,omitempty" enum:"post,pre" doc:"Absent: the marketplace's."`
	BillingModeAlias offsiteBillingMode `json:"billing_mode,omitempty" doc:"Alias of billingMode."`
}

// offsiteBillingMode is the alias of a billing mode. Its extensions give generators another name for it: they would call both members
// and both types alike.
type offsiteBillingMode string

// Schema describes the words.
func (offsiteBillingMode) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, Enum: []any{"post", "pre"},
		Extensions: map[string]any{"x-go-name": "BillingModeAlias", "x-go-type-name": "BillingModeAlias"},
	}
}

// OffsiteJobID names a job.
type OffsiteJobID struct {
	JobID string `json:"jobId" format:"uuid"`
}

// OffsiteAdvertiser is the registration of a vendor with the networks.
type OffsiteAdvertiser struct {
	VendorID            string              `json:"vendorId"`
	BillingMode         string              `json:"billingMode" enum:"post,pre"`
	DSPOnboardingStatus []OffsiteOnboarding `json:"dspOnboardingStatus"`
}

// OffsiteOnboarding is the state of a vendor's registration with one network.
type OffsiteOnboarding struct {
	DSP         string        `json:"dsp"`
	Status      string        `json:"status" enum:"pending,active,failed"`
	LastUpdated resource.Time `json:"lastUpdated"`
}

type (
	advertiserInput    struct{ Body OffsiteAdvertiserBody }
	getAdvertiserInput struct {
		VendorID string `path:"vendor_id" minLength:"1" maxLength:"255"`
	}
	jobIDOutput      struct{ Body OffsiteJobID }
	advertiserOutput struct{ Body OffsiteAdvertiser }
)

// nothingSynced is the result of a job without work.
const nothingSynced = `{"synced":[]}`

// createAdvertiser registers a vendor with networks. Networks where the vendor is active already are skipped, and so are those that
// know the vendor and have no connector that could be asked again. Without networks to ask, the job is completed from the start.
func (s *OffsiteService) createAdvertiser(ctx context.Context, in *advertiserInput) (*jobIDOutput, error) {
	b := &in.Body
	if err := knownVendor(ctx, b.VendorID); err != nil {
		return nil, err
	}
	st := resource.Tenant(ctx)
	known, err := st.Advertiser(ctx, b.VendorID)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	networks := slices.Compact(slices.Sorted(slices.Values(b.DSP)))
	if b.DSP == nil {
		networks = slices.DeleteFunc(slices.Clone(s.Networks), func(n string) bool { return !slices.Contains(advertiserNetworks, any(n)) })
	}
	fresh := slices.DeleteFunc(slices.Clone(networks), func(n string) bool {
		return known.Active(n) || known.Knows(n) && !slices.Contains(s.Networks, n)
	})
	err = st.ChangeAdvertiser(ctx, b.VendorID, func(x *store.Advertiser) {
		x.BillingMode = cmp.Or(b.BillingMode, string(b.BillingModeAlias), x.BillingMode)
		for _, network := range fresh {
			x.Set(network, "pending", s.Now().UnixMilli())
		}
	})
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	job := store.Job{Type: store.JobAdvertiser, VendorID: b.VendorID, Networks: fresh}
	if len(fresh) > 0 {
		err = st.AddJob(ctx, &job)
	} else {
		job.Networks = networks
		err = st.AddFinishedJob(ctx, &job, nothingSynced)
	}
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &jobIDOutput{OffsiteJobID{job.ID.String()}}, nil
}

func getAdvertiser(ctx context.Context, in *getAdvertiserInput) (*advertiserOutput, error) {
	if err := knownVendor(ctx, in.VendorID); err != nil {
		return nil, err
	}
	st := resource.Tenant(ctx)
	x, err := st.Advertiser(ctx, in.VendorID)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	if x.BillingMode == "" {
		x.BillingMode = "pre"
		if st.Settings().PostPaid {
			x.BillingMode = "post"
		}
	}
	out := &advertiserOutput{OffsiteAdvertiser{x.VendorID, x.BillingMode, make([]OffsiteOnboarding, len(x.Networks))}}
	for i, n := range x.Networks {
		out.Body.DSPOnboardingStatus[i] = OffsiteOnboarding{n.Network, n.Status, resource.Time(n.UpdatedMillis)}
	}
	return out, nil
}
