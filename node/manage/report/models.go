package report

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/attribution"
)

const (
	modelJobs = service + "/attribution-models"
	oneModels = modelJobs + "/{job_id}"
)

// The windows of the model otherWindows, unless a request has others.
const (
	defaultClickDays = 30
	defaultViewDays  = 1
)

// registerModels mounts the jobs that divide sales by other attribution models.
func registerModels(api huma.API) {
	resource.Add(api, resource.Op{
		ID: "computeAttributionModels", Method: http.MethodPost, Status: http.StatusAccepted, Path: modelJobs, Tag: tag,
		Doc: "Divide the purchases among the ads that led to them again, by other attribution models; 409 while such a job of the marketplace runs.",
	}, computeModels)
	resource.Add(api, resource.Op{
		ID: "listAttributionModels", Method: http.MethodGet, Path: modelJobs, Tag: tag,
		Doc: "List the jobs that compute attribution models, newest first; 10 are kept, each for 30 days.",
	}, listModels)
	resource.Add(api, resource.Op{
		ID: "getAttributionModels", Method: http.MethodGet, Path: oneModels, Tag: tag,
		Doc: "Read the progress of a job and, once it is completed, the sales of each campaign by each model.",
	}, getModels)
	resource.Add(api, resource.Op{
		ID: "deleteAttributionModels", Method: http.MethodDelete, Status: http.StatusNoContent, Path: oneModels, Tag: tag,
		Doc: "Cancel a job, or delete its result.",
	}, deleteModels)
}

// ModelsBody says what to compute.
type ModelsBody struct {
	StartDate    string       `json:"startDate" format:"date" doc:"First day of the clicks and impressions, in the marketplace's time zone: at most 60 days ago, and later if the touches before it are not stored for the longest window."`
	EndDate      string       `json:"endDate" format:"date" doc:"Last day; at most 31 days in all."`
	OtherWindows *ModelWindow `json:"otherWindows,omitempty" doc:"The windows of the model otherWindows; default: 30 days after a click, 1 day after an impression."`
}

// ModelWindow are the windows of the model otherWindows, for all formats.
type ModelWindow struct {
	ClickDays int `json:"clickDays" minimum:"0" maximum:"88" doc:"Days after a click; 0: clicks get nothing."`
	ViewDays  int `json:"viewDays" minimum:"0" maximum:"88" doc:"Days after an impression; 0: impressions get nothing."`
}

// ModelsJob is a job in answers.
type ModelsJob struct {
	JobID        string        `json:"jobId" format:"uuid"`
	Status       string        `json:"status" enum:"not_started,in_progress,completed,failed,retrying"`
	Percent      int           `json:"percent" doc:"How much of the job is done. It begins again when another node takes the job over."`
	Reason       string        `json:"reason,omitempty" doc:"Why it failed, or is tried again."`
	StartDate    string        `json:"startDate" format:"date" doc:"First day of the clicks and impressions."`
	EndDate      string        `json:"endDate" format:"date" doc:"Last day of the clicks and impressions."`
	OtherWindows ModelWindow   `json:"otherWindows" doc:"The windows of the model otherWindows."`
	CreatedAt    resource.Time `json:"createdAt"`
	UpdatedAt    resource.Time `json:"updatedAt"`
}

// ModelsList is the list of jobs.
type ModelsList struct {
	Jobs []ModelsJob `json:"jobs" doc:"The jobs, newest first."`
}

type (
	modelsInput    struct{ Body ModelsBody }
	oneModelsInput struct {
		ID string `path:"job_id" format:"uuid"`
	}
	modelsOutput     struct{ Body ModelsJob }
	modelsListOutput struct{ Body ModelsList }
	modelsReport     struct{ Body ModelsReport }
)

// window returns the windows of the model otherWindows.
func (b *ModelsBody) window() attribution.Window {
	if b.OtherWindows == nil {
		return attribution.Window{Click: defaultClickDays, View: defaultViewDays}
	}
	return attribution.Window{Click: uint8(b.OtherWindows.ClickDays), View: uint8(b.OtherWindows.ViewDays)} // The kit has checked the bounds.
}

// query checks what the schema cannot check: the order of the days, their number, and that what they need is stored.
func (b *ModelsBody) query(t store.Tenant) (q store.ModelQuery, err error) {
	from, errFrom := time.Parse(time.DateOnly, b.StartDate)
	to, errTo := time.Parse(time.DateOnly, b.EndDate)
	if errFrom != nil || errTo != nil {
		panic("the kit has checked these dates")
	}
	const day = 24 * time.Hour
	refuse := func(message string, at ...any) (store.ModelQuery, error) {
		return q, resource.Invalid(resource.At("value_error", message, at...))
	}
	q = store.ModelQuery{Dates: store.Dates{From: b.StartDate, To: b.EndDate}, Window: b.window()}
	first, most := t.ModelFirstDay(q.Window), t.ModelWindowMax()
	switch {
	case to.Before(from):
		return refuse("must not be before startDate", "body", "endDate")
	case to.Sub(from)/day >= store.ModelDaysMax:
		return refuse("must be at most "+strconv.Itoa(store.ModelDaysMax)+" days with startDate", "body", "endDate")
	case int(max(q.Window.Click, q.Window.View)) > most:
		return refuse("must have at most "+strconv.Itoa(most)+" days, because the marketplace keeps touches for 2 days more (touchRetentionDays)", "body", "otherWindows")
	case b.StartDate < first:
		return refuse("must not be before "+first+": what the windows of earlier days need is not stored any more", "body", "startDate")
	}
	return q, nil
}

func computeModels(ctx context.Context, in *modelsInput) (*modelsOutput, error) {
	t := resource.Tenant(ctx)
	q, err := in.Body.query(t)
	if err != nil {
		return nil, err
	}
	x, err := t.AddModelJob(ctx, q)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &modelsOutput{modelsJobOf(&x)}, nil
}

func listModels(ctx context.Context, _ *struct{}) (*modelsListOutput, error) {
	jobs, err := resource.Tenant(ctx).ModelJobs(ctx)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	all := make([]ModelsJob, len(jobs))
	for i := range jobs {
		all[i] = modelsJobOf(&jobs[i])
	}
	return &modelsListOutput{ModelsList{all}}, nil
}

func getModels(ctx context.Context, in *oneModelsInput) (*modelsReport, error) {
	t := resource.Tenant(ctx)
	x, err := t.ModelJob(ctx, resource.ParseUUID(in.ID))
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &modelsReport{modelsReportOf(&x, t.Settings().CurrencyExponent)}, nil
}

func deleteModels(ctx context.Context, in *oneModelsInput) (*struct{}, error) {
	return nil, resource.ErrorOf(resource.Tenant(ctx).DeleteModelJob(ctx, resource.ParseUUID(in.ID)))
}

func modelsJobOf(x *store.Job) ModelsJob {
	q := &x.Models.Query
	a := ModelsJob{
		JobID: x.ID.String(), Status: string(x.Status), Percent: x.Models.Percent, StartDate: q.Dates.From, EndDate: q.Dates.To,
		OtherWindows: ModelWindow{int(q.Window.Click), int(q.Window.View)},
		CreatedAt:    resource.Time(x.CreatedMillis), UpdatedAt: resource.Time(x.UpdatedMillis),
	}
	if x.Status != store.JobCompleted {
		a.Reason = x.Reason
	}
	return a
}
