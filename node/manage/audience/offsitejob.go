package audience

import (
	"context"
	"encoding/json"

	"github.com/gavel-ads/gavel/node/apierr"
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
	Status string          `json:"status" enum:"in_progress,completed,failed"`
	Result resource.Object `json:"result,omitempty" doc:"Whatever the network answers, at most 8 KiB."`
	DSP    string          `json:"dsp,omitempty" enum:"google_ads,meta,tiktok_ads,snapchat_ads" doc:"The network that reports; absent: all networks of the job."`
}

type (
	jobInput struct {
		ID       string `path:"job_id" format:"uuid"`
		VendorID string `query:"vendor_id" maxLength:"255" doc:"If given, a job of another vendor is answered with 404."`
	}
	reportInput struct {
		ID   string `path:"job_id" format:"uuid"`
		Body OffsiteReportBody
	}
	jobOutput struct{ Body OffsiteJob }
)

const resultMax = 8 << 10 // BOUND: bytes of a result, which is stored for 30 days.

func getJob(ctx context.Context, in *jobInput) (*jobOutput, error) {
	x, err := resource.Tenant(ctx).Job(ctx, resource.ParseUUID(in.ID))
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	if in.VendorID != "" && in.VendorID != x.VendorID {
		return nil, resource.Refuse(apierr.ResourceNotFound, "")
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
	if len(in.Body.Result) > resultMax {
		return nil, resource.Invalid(resource.At("too_long", "must have at most 8,192 bytes", "body", "result"))
	}
	r := jobs.OffsiteReport{Network: in.Body.DSP, Status: store.JobStatus(in.Body.Status), Result: compact(in.Body.Result)}
	x, err := s.ReportJob(ctx, resource.CallerOf(ctx).Marketplace, resource.ParseUUID(in.ID), r)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return jobOf(&x), nil
}

// compact writes an object without white space.
func compact(o resource.Object) string {
	if o == nil {
		return ""
	}
	text, err := json.Marshal(o)
	if err != nil {
		panic("the kit has checked this object: " + err.Error())
	}
	return string(text)
}
