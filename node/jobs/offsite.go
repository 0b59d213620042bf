package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/node/blob"
	"github.com/gavel-ads/gavel/node/store"
)

// reportWait is how long a network may take to report on a job. BOUND: a job must end although a connector forgets it.
const reportWait = 24 * time.Hour

// jobsAtOnce is how many jobs run at the same moment. BOUND: reading a list occupies a core.
const jobsAtOnce = 2

// JobRequest is the JSON body with which a connector receives a job.
type JobRequest struct {
	JobID       string        `json:"jobId"`
	RequestType store.JobType `json:"requestType"`
	DSP         string        `json:"dsp"`
	Marketplace string        `json:"marketplaceId"`
	VendorID    string        `json:"vendorId"`
	BillingMode string        `json:"billingMode,omitempty"`
	Audience    *JobAudience  `json:"audience,omitempty"`
	Campaign    *JobCampaign  `json:"campaign,omitempty"`
}

// JobAudience is the audience of a job.
type JobAudience struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Size        int64  `json:"size"`
	URL         string `json:"url"` // Where the accepted rows can be downloaded, for an hour.
}

// JobCampaign is the campaign of a job.
type JobCampaign struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	ExternalID string `json:"externalId"`
}

// Connector sends jobs to one network. REQUIRES: sending a job twice does no harm; the network recognizes it by its id.
type Connector interface {
	Send(ctx context.Context, t store.Tenant, h JobRequest) error
}

// Offsite does the jobs of ad networks.
type Offsite struct {
	Blobs      blob.Store
	Connectors map[string]Connector // By network.
	ListURL    func(t store.Tenant, x *store.Audience) string
	Now        func() time.Time
	StepRows   int64 // Zero means stepRows; tests take smaller steps.
}

// Worker returns the worker that does the tasks of jobs.
func (s *Offsite) Worker() Worker {
	return Worker{Kind: store.TaskJob, AtOnce: jobsAtOnce, Do: s.step}
}

// Networks are the names of the networks that have a connector, sorted.
func (s *Offsite) Networks() []string { return slices.Sorted(maps.Keys(s.Connectors)) }

// step does one step of a job.
func (s *Offsite) step(ctx context.Context, t store.Tenant, d store.ScheduledTask) error {
	at, err := t.VersionedJob(ctx, d.ID)
	if err != nil {
		return err
	}
	switch {
	case at.DueMillis != d.Millis:
		return store.ErrWrongState // The task belongs to an earlier step.
	case at.Final():
		return t.ForgetJob(ctx, at)
	case at.List != nil && at.Status == store.JobNotStarted:
		return t.StepJob(ctx, at, func(x *store.Job) { x.End(store.JobFailed, store.FailureResult("no list came within an hour")) })
	case at.Status == store.JobNotStarted || at.Status == store.JobRetrying:
		return t.StepJob(ctx, at, func(x *store.Job) { x.Status = store.JobInProgress })
	case at.List != nil && at.List.Object != "":
		return s.readList(ctx, t, at)
	case len(s.pendingNetworks(&at.Job)) > 0:
		return s.sendNext(ctx, t, at)
	default:
		return t.StepJob(ctx, at, func(x *store.Job) { s.schedule(x, true) })
	}
}

// readList reads the next part of a list. With the last part the audience gets the list.
func (s *Offsite) readList(ctx context.Context, t store.Tenant, at store.VersionedJob) error {
	step := s.StepRows
	if step == 0 {
		step = stepRows
	}
	p, err := readPart(ctx, s.Blobs, *at.List, step)
	if ctx.Err() != nil {
		return ctx.Err() // The step was interrupted; the next leader does it again.
	}
	if wrong, ok := errors.AsType[errList](err); ok || errors.Is(err, blob.ErrNotFound) {
		if !ok {
			wrong = "the list was removed"
		}
		return s.rejectList(ctx, t, at, string(wrong))
	}
	if err != nil {
		return t.StepJob(ctx, at, func(x *store.Job) { x.Fail("the list cannot be read now", s.Now()) })
	}
	switch {
	case p.end && p.Good == 0:
		return s.rejectList(ctx, t, at, "the list has no good row")
	case !p.end:
		return t.StepJob(ctx, at, func(x *store.Job) { x.List, x.Failures = &p.List, 0 })
	}
	upload := at.List.Object
	at.List = &p.List
	old, err := t.ReplaceList(ctx, at, func(x *store.Job) {
		x.List.Object, x.Failures = "", 0
		x.Result = listResult(x, nil)
		s.schedule(x, false)
	})
	if err != nil {
		return err
	}
	s.remove(ctx, upload)
	for n := range old.Parts {
		s.remove(ctx, store.ListPart(old.List, n))
	}
	return nil
}

// rejectList fails a job whose list cannot be used, and removes its files.
func (s *Offsite) rejectList(ctx context.Context, t store.Tenant, at store.VersionedJob, reason string) error {
	if err := t.StepJob(ctx, at, func(x *store.Job) { x.End(store.JobFailed, store.FailureResult(reason)) }); err != nil {
		return err
	}
	s.remove(ctx, at.List.Object)
	for n := range at.List.Parts + 1 {
		s.remove(ctx, store.ListPart(at.List.Name, n))
	}
	return nil
}

// remove deletes a file. If that fails, the sweep removes it.
func (s *Offsite) remove(ctx context.Context, name string) { _ = s.Blobs.Remove(ctx, name) }

// pendingNetworks are the networks that still have to receive a job.
func (s *Offsite) pendingNetworks(x *store.Job) (all []string) {
	for _, network := range x.Networks {
		if s.Connectors[network] != nil && !slices.Contains(x.Handed, network) {
			all = append(all, network)
		}
	}
	return all
}

// sendNext sends a job to the next network.
func (s *Offsite) sendNext(ctx context.Context, t store.Tenant, at store.VersionedJob) error {
	network := s.pendingNetworks(&at.Job)[0]
	h, err := s.jobRequest(ctx, t, &at.Job, network)
	if err == nil {
		err = s.Connectors[network].Send(ctx, t, h)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return t.StepJob(ctx, at, func(x *store.Job) {
		if err != nil {
			x.Fail("the connector of "+network+" did not take the job", s.Now())
			return
		}
		x.Handed, x.Failures = append(slices.Clone(x.Handed), network), 0
		s.schedule(x, false)
	})
}

func (s *Offsite) jobRequest(ctx context.Context, t store.Tenant, x *store.Job, network string) (JobRequest, error) {
	m := t.Settings()
	h := JobRequest{JobID: x.ID.String(), RequestType: x.Type, DSP: network, Marketplace: m.ID.String(), VendorID: x.VendorID}
	switch {
	case !x.Audience.IsZero():
		a, err := t.Audience(ctx, x.Audience)
		if err != nil {
			return h, err
		}
		h.Audience = &JobAudience{a.ID.String(), a.Name, a.Description, a.Size, s.ListURL(t, &a)}
	case !x.Campaign.IsZero():
		c, err := t.OffsiteCampaign(ctx, x.Campaign)
		if err != nil {
			return h, err
		}
		h.Campaign = &JobCampaign{c.ID.String(), c.Name, c.ExternalID}
	default:
		a, err := t.Advertiser(ctx, x.VendorID)
		if err != nil {
			return h, err
		}
		h.BillingMode = cmp.Or(a.BillingMode, "pre")
		if a.BillingMode == "" && m.PostPaid {
			h.BillingMode = "post"
		}
	}
	return h, nil
}

// schedule sets when a job continues, or ends it when no network has anything left to do. late says that the time for reports is
// over.
func (s *Offsite) schedule(x *store.Job, late bool) {
	EndIfReported(x)
	switch {
	case x.Final():
	case len(s.pendingNetworks(x)) > 0:
		x.DueMillis = s.Now().UnixMilli()
	case len(x.Handed) == 0:
		x.End(store.JobCompleted, networkResults(x))
	case late:
		x.End(store.JobFailed, store.FailureResult("no report came within 24 hours"))
	default:
		x.DueMillis = s.Now().Add(reportWait).UnixMilli()
	}
}

// EndIfReported ends a job when all networks that accepted it have reported. It has failed when one of them reported a failure.
func EndIfReported(x *store.Job) {
	if x.Final() || len(x.Handed) == 0 {
		return
	}
	for _, network := range x.Handed {
		if x.Reported[network] == "" {
			return
		}
	}
	for _, network := range x.Networks {
		if x.Reported[network] == string(store.JobFailed) {
			x.End(store.JobFailed, networkResults(x))
			return
		}
	}
	x.End(store.JobCompleted, networkResults(x))
}

// networkResults is the JSON text of a completed job: which networks have it, and for a list how many rows were read.
func networkResults(x *store.Job) string {
	synced := []string{}
	for _, network := range slices.Sorted(maps.Keys(x.Reported)) {
		if x.Reported[network] == string(store.JobCompleted) {
			synced = append(synced, network)
		}
	}
	if x.List != nil {
		return listResult(x, synced)
	}
	return jsonText(struct {
		Synced []string `json:"synced"`
	}{synced})
}

func listResult(x *store.Job, synced []string) string {
	if synced == nil {
		synced = []string{}
	}
	return jsonText(struct {
		Synced   []string `json:"synced"`
		Rows     int64    `json:"rows"`
		Accepted int64    `json:"accepted"`
		Rejected int64    `json:"rejected"`
	}{synced, x.List.Rows, x.List.Good, x.List.Bad})
}

func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("jobs: a result cannot be encoded as JSON: %v", err))
	}
	return string(b)
}
