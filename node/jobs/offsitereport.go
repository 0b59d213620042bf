package jobs

import (
	"context"
	"maps"
	"slices"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
)

// OffsiteReport is a connector's report on a job.
type OffsiteReport struct {
	Network string // Empty means all networks that received the job.
	Status  store.JobStatus
	Result  string // JSON text; empty keeps the result that the job has.
}

// ApplyOffsiteReport applies the report of a connector, the sandbox included. It returns store.ErrWrongState for a job that is over, and for
// a network that the job is not for.
//
// What the job is about is changed before the job: if the node stops in between, the connector repeats its report.
func ApplyOffsiteReport(ctx context.Context, t store.Tenant, id ids.UUID, r OffsiteReport) (store.Job, error) {
	x, err := t.OffsiteJob(ctx, id)
	if err != nil {
		return x, err
	}
	if err := recordReport(&x, r); err != nil {
		return x, err
	}
	if err := applyOutcome(ctx, t, &x); err != nil {
		return x, err
	}
	return t.ChangeJob(ctx, id, func(x *store.Job) error { return recordReport(x, r) })
}

// recordReport stores a report in a job.
func recordReport(x *store.Job, r OffsiteReport) error {
	networks := x.Networks
	if r.Network != "" {
		networks = []string{r.Network}
	}
	if x.Final() || x.List != nil && x.List.Object != "" || r.Network != "" && !slices.Contains(x.Networks, r.Network) {
		return store.ErrWrongState
	}
	if r.Status == store.JobInProgress {
		return x.To(store.JobInProgress) // The network reports that it is working on the job.
	}
	x.Status = store.JobInProgress
	x.Reported = maps.Clone(x.Reported)
	if x.Reported == nil {
		x.Reported = map[string]string{}
	}
	x.Handed = slices.Clone(x.Handed)
	for _, network := range networks {
		x.Reported[network] = string(r.Status)
		if !slices.Contains(x.Handed, network) {
			x.Handed = append(x.Handed, network) // Its report arrived before it was stored that it accepted the job.
		}
	}
	EndIfReported(x)
	if r.Result != "" {
		x.Result = r.Result
	}
	return nil
}

// applyOutcome changes what a job is about according to the reports. It may be done twice.
func applyOutcome(ctx context.Context, t store.Tenant, x *store.Job) error {
	for network, status := range x.Reported {
		switch {
		case x.Type == store.JobAdvertiser:
			onboarding := "active"
			if status != string(store.JobCompleted) {
				onboarding = "failed"
			}
			if err := t.ChangeAdvertiser(ctx, x.VendorID, func(a *store.Advertiser) { a.Set(network, onboarding, x.UpdatedMillis) }); err != nil {
				return err
			}
		case !x.Audience.IsZero() && status == string(store.JobCompleted):
			if err := t.SyncAudience(ctx, x.Audience, x.ID, network); err != nil {
				return err
			}
		}
	}
	return nil
}
