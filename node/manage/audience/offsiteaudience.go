package audience

import (
	"context"
	"net/http"
	"slices"

	"github.com/gavel-ads/gavel/node/blob"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// OffsiteAudienceBody is a new audience.
type OffsiteAudienceBody struct {
	Name        string   `json:"name" minLength:"1" maxLength:"64"`
	DSP         []string `json:"dsp" minItems:"1" maxItems:"4" enum:"google_ads,meta,tiktok_ads,snapchat_ads" doc:"The networks it is for."`
	Description string   `json:"description,omitempty" minLength:"1" maxLength:"400"`
}

// OffsiteReplaceBody changes the members that it contains.
type OffsiteReplaceBody struct {
	Name        string `json:"name,omitempty" minLength:"1" maxLength:"64"`
	Description string `json:"description,omitempty" minLength:"1" maxLength:"400"`
}

// OffsiteCreated is a new audience.
type OffsiteCreated struct {
	AudienceID string `json:"audienceId" format:"uuid"`
	OffsiteWaiting
}

// OffsiteWaiting is a job that waits for its list.
type OffsiteWaiting struct {
	JobID string `json:"jobId" format:"uuid"`
	URL   string `json:"url" doc:"PUT the list here as text/csv, once, within an hour: at most 64 MiB and 1,000,000 rows."`
}

// OffsiteSizeRange bounds the size of an audience.
type OffsiteSizeRange struct {
	LowerBound int64 `json:"lowerBound"`
	UpperBound int64 `json:"upperBound"`
}

// OffsiteAudience is an audience in answers.
type OffsiteAudience struct {
	ID                 string           `json:"id" format:"uuid"`
	Name               string           `json:"name"`
	Description        string           `json:"description"`
	EstimatedSize      int64            `json:"estimatedSize" doc:"Accepted rows of its list."`
	EstimatedSizeRange OffsiteSizeRange `json:"estimatedSizeRange"`
	SyncedDSPs         []string         `json:"syncedDsps" doc:"Networks that have its list."`
	DSP                []string         `json:"dsp"`
	VendorID           string           `json:"vendorId"`
	CreatedAt          resource.Time    `json:"createdAt"`
	UpdatedAt          resource.Time    `json:"updatedAt"`
}

// OffsiteAudiences is one page of audiences.
type OffsiteAudiences struct {
	Audiences []OffsiteAudience `json:"audiences"`
	DSP       []string          `json:"dsp" doc:"The connected networks."`
	resource.Page
}

type (
	createAudienceInput struct {
		VendorID string `query:"vendor_id" required:"true" minLength:"1" maxLength:"255"`
		Body     OffsiteAudienceBody
	}
	replaceInput struct {
		ID string `path:"audience_id" format:"uuid"`
		resource.Owned
		Body OffsiteReplaceBody
	}
	offsiteListInput struct {
		VendorID string `query:"vendor_id" maxLength:"255"`
		DSP      string `query:"dsp" enum:"google_ads,meta,tiktok_ads,snapchat_ads"`
		Limit    int    `query:"limit" minimum:"1" maximum:"100" default:"100"`
		NextPage string `query:"next_page"`
	}
	createdOutput     struct{ Body OffsiteCreated }
	waitingOutput     struct{ Body OffsiteWaiting }
	offsiteListOutput struct{ Body OffsiteAudiences }
)

func (s *OffsiteService) createAudience(ctx context.Context, in *createAudienceInput) (*createdOutput, error) {
	if err := knownVendor(ctx, in.VendorID); err != nil {
		return nil, err
	}
	x := store.Audience{
		VendorID: in.VendorID, Name: in.Body.Name, Description: in.Body.Description,
		Networks: slices.Compact(slices.Sorted(slices.Values(in.Body.DSP))),
	}
	job := newListJob(ctx, store.JobAudience)
	if err := resource.Tenant(ctx).CreateAudience(ctx, &x, job); err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &createdOutput{OffsiteCreated{x.ID.String(), s.waiting(ctx, job)}}, nil
}

func newListJob(ctx context.Context, kind store.JobType) *store.Job {
	marketplace := resource.CallerOf(ctx).Marketplace
	return &store.Job{Type: kind, List: &store.List{Object: blob.Name("c", marketplace), Name: blob.Name("l", marketplace)}}
}

// waiting returns a job with the signed URL for the upload of its list.
func (s *OffsiteService) waiting(ctx context.Context, job *store.Job) OffsiteWaiting {
	path := listPath + job.ID.String()
	policy, signature := keyOf(resource.Tenant(ctx).CursorKey()).Sign(blob.Policy{
		Method: http.MethodPut, Path: path, Marketplace: resource.CallerOf(ctx).Marketplace, Subject: job.ID.String(),
		Object: job.List.Object, Type: listType, MaxBytes: listMax,
		Expires: s.Now().Add(store.ListWait).UnixMilli(), Nonce: job.List.Nonce,
	})
	return OffsiteWaiting{job.ID.String(), s.PublicURL + path + "?policy=" + policy + "&signature=" + signature}
}

// CheckOwner refuses a request that names another vendor than the audience's.
func (in *replaceInput) CheckOwner(ctx context.Context) error {
	if in.VendorID == "" {
		return nil
	}
	x, err := resource.Tenant(ctx).Audience(ctx, resource.ParseUUID(in.ID))
	if err != nil {
		return nil //nolint:nilerr // The operation finds the same error and answers it.
	}
	return resource.SameVendor(in.VendorID, x.VendorID)
}

func (s *OffsiteService) replaceAudience(ctx context.Context, in *replaceInput) (*waitingOutput, error) {
	job := newListJob(ctx, store.JobAudienceReplace)
	_, err := resource.Tenant(ctx).ReplaceAudience(ctx, resource.ParseUUID(in.ID), job, func(x *store.Audience) {
		if in.Body.Name != "" {
			x.Name = in.Body.Name
		}
		if in.Body.Description != "" {
			x.Description = in.Body.Description
		}
	})
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &waitingOutput{s.waiting(ctx, job)}, nil
}

func (s *OffsiteService) listAudiences(ctx context.Context, in *offsiteListInput) (*offsiteListOutput, error) {
	st := resource.Tenant(ctx)
	if in.VendorID != "" {
		if err := knownVendor(ctx, in.VendorID); err != nil {
			return nil, err
		}
	}
	keep := func(x *store.Audience) bool {
		return (in.VendorID == "" || x.VendorID == in.VendorID) && (in.DSP == "" || slices.Contains(x.Networks, in.DSP))
	}
	cursors := resource.CursorsFor(ctx, st.CursorKey(), "listAudiences", in.VendorID, in.DSP)
	page, end, err := resource.List(cursors, in.NextPage, in.Limit, func(x store.Audience) string { return x.ListPosition() },
		func(p store.Page) ([]store.Audience, bool, error) { return st.Audiences(ctx, p, keep) })
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	out := &offsiteListOutput{OffsiteAudiences{Audiences: make([]OffsiteAudience, len(page)), DSP: orEmpty(s.Networks), Page: end}}
	for i := range page {
		x := &page[i]
		out.Body.Audiences[i] = OffsiteAudience{
			ID: x.ID.String(), Name: x.Name, Description: x.Description, EstimatedSize: x.Size, EstimatedSizeRange: OffsiteSizeRange{x.Size, x.Size},
			SyncedDSPs: orEmpty(x.Synced), DSP: x.Networks, VendorID: x.VendorID,
			CreatedAt: resource.Time(x.CreatedMillis), UpdatedAt: resource.Time(x.UpdatedMillis),
		}
	}
	return out, nil
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
