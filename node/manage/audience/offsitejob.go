package audience

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/jobs"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// OffsiteJob is a job in answers.
type OffsiteJob struct {
	JobID       string        `json:"jobId" format:"uuid"`
	RequestType string        `json:"requestType" enum:"advertiser_creation,campaign_creation,campaign_update,user_list_audience_creation,user_list_audience_replacement"`
	Status      string        `json:"status" enum:"not_started,in_progress,completed,failed,retrying"`
	DSP         []string      `json:"dsp"`
	Result      *string       `json:"result" doc:"JSON text."`
	CreatedAt   resource.Time `json:"createdAt"`
	UpdatedAt   resource.Time `json:"updatedAt"`
}

// OffsiteReportBody is the report of a connector on a job.
type OffsiteReportBody struct {
	Status string        `json:"status" enum:"in_progress,completed,failed"`
	Result OffsiteResult `json:"result,omitzero" doc:"Whatever the network answers, an object of at most 8 KiB, or the text of one as answers show it."`
	DSP    string        `json:"dsp,omitempty" enum:"google_ads,meta,tiktok_ads,snapchat_ads" doc:"The network that reports; absent: all networks of the job."`
}

type (
	jobInput struct {
		OneJob
	}
	reportInput struct {
		OneJob
		Body OffsiteReportBody
	}
	jobOutput struct{ Body OffsiteJob }
)

const resultMax = 8 << 10 // BOUND: bytes of a result, which is stored for 30 days.

// OneJob names a job.
type OneJob struct {
	ID string `path:"job_id" format:"uuid"`
	resource.Owned
}

// CheckOwner refuses a request that names another vendor than the job's.
func (in *OneJob) CheckOwner(ctx context.Context) error {
	if in.VendorID == "" {
		return nil
	}
	x, err := resource.Tenant(ctx).OffsiteJob(ctx, resource.ParseUUID(in.ID))
	if err != nil {
		return nil //nolint:nilerr // The operation finds the same error and answers it.
	}
	return resource.SameVendor(in.VendorID, x.VendorID)
}

func getJob(ctx context.Context, in *jobInput) (*jobOutput, error) {
	x, err := resource.Tenant(ctx).OffsiteJob(ctx, resource.ParseUUID(in.ID))
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return jobOf(&x), nil
}

func jobOf(x *store.Job) *jobOutput {
	a := OffsiteJob{
		JobID: x.ID.String(), RequestType: string(x.Type), Status: string(x.Status), DSP: orEmpty(x.Networks),
		CreatedAt: resource.Time(x.CreatedMillis), UpdatedAt: resource.Time(x.UpdatedMillis),
	}
	if x.Result != "" {
		a.Result = &x.Result
	}
	return &jobOutput{a}
}

func (s *OffsiteService) reportJob(ctx context.Context, in *reportInput) (*jobOutput, error) {
	switch result := in.Body.Result; {
	case result.malformed:
		return nil, resource.Invalid(resource.At("value_error", "must be a JSON object, or the text of one", "body", "result"))
	case len(result.text) > resultMax:
		return nil, resource.Invalid(resource.At("too_long", "must have at most 8,192 bytes", "body", "result"))
	}
	r := jobs.OffsiteReport{Network: in.Body.DSP, Status: store.JobStatus(in.Body.Status), Result: in.Body.Result.text}
	x, err := s.ReportJob(ctx, resource.CallerOf(ctx).Marketplace, resource.ParseUUID(in.ID), r)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return jobOf(&x), nil
}

// OffsiteResult is the result of a job in a request: an object, or its text, which is how answers show a result.
type OffsiteResult struct {
	text      string // Without white space.
	malformed bool   // A text was sent that is no JSON object.
}

// Schema describes both forms.
func (OffsiteResult) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		{Type: huma.TypeObject, AdditionalProperties: true},
		{Type: huma.TypeString, Description: "The JSON text of an object."},
	}}
}

// UnmarshalJSON reads either form. REQUIRES: the kit has checked that text is a JSON object or string.
func (o *OffsiteResult) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		var inner string
		if err := json.Unmarshal(text, &inner); err != nil {
			return err
		}
		text = []byte(inner)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil || compact.Bytes()[0] != '{' {
		*o = OffsiteResult{malformed: true}
		return nil //nolint:nilerr // A fault of the request's, which is answered later.
	}
	*o = OffsiteResult{text: compact.String()}
	return nil
}
