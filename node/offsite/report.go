package offsite

import (
	"context"
	"maps"
	"slices"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Report is what a connector says of a job.
type Report struct {
	Network string // Empty: all that the job was handed to.
	Status  store.JobStatus
	Result  string // JSON text; empty leaves what the job says.
}

// Tell takes a report: the door of every connector, the sandbox among them. A job that is over takes none, and a report
// about a network that has nothing to do with the job is refused: both store.ErrWrongState.
//
// What the job was about learns it first: if the node stops in between, the connector repeats its report.
func Tell(ctx context.Context, t store.Tenant, id ids.UUID, r Report) (store.Job, error) {
	x, err := t.Job(ctx, id)
	if err != nil {
		return x, err
	}
	if err := take(&x, r); err != nil {
		return x, err
	}
	if err := apply(ctx, t, &x); err != nil {
		return x, err
	}
	return t.ChangeJob(ctx, id, func(x *store.Job) error { return take(x, r) })
}

// take writes a report into a job.
func take(x *store.Job, r Report) error {
	networks := x.Networks
	if r.Network != "" {
		networks = []string{r.Network}
	}
	if x.Final() || x.List != nil && x.List.Object != "" || r.Network != "" && !slices.Contains(x.Networks, r.Network) {
		return store.ErrWrongState
	}
	if r.Status == store.JobInProgress {
		return x.To(store.JobInProgress) // The network says that it is at work.
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
			x.Handed = append(x.Handed, network) // It reports before the note of its taking is written.
		}
	}
	Settle(x)
	if r.Result != "" {
		x.Result = r.Result
	}
	return nil
}

// apply carries a job's outcome to what it was about. It may be done twice.
func apply(ctx context.Context, t store.Tenant, x *store.Job) error {
	for network, status := range x.Reported {
		switch {
		case x.Type == store.JobAdvertiser:
			shown := "active"
			if status != string(store.JobCompleted) {
				shown = "failed"
			}
			if err := t.ChangeAdvertiser(ctx, x.VendorID, func(a *store.Advertiser) { a.Set(network, shown, x.UpdatedMillis) }); err != nil {
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
