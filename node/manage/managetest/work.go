package managetest

import (
	"context"
	"log/slog"
	"testing"

	"github.com/gavel-ads/gavel/node/delivery"
	"github.com/gavel-ads/gavel/node/jobs"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
)

func (w *Environment) newOffsite() *jobs.Offsite {
	return &jobs.Offsite{
		Blobs: w.Blobs, Now: w.Now,
		Connectors: map[string]jobs.Connector{"meta": jobs.SandboxConnector{Now: w.Now}},
		ListURL: func(t store.Tenant, x *store.Audience) string {
			return jobs.ExportURL(PublicURL, t, x, w.Now())
		},
	}
}

func (w *Environment) reportJob(ctx context.Context, marketplace uint16, job ids.UUID, r jobs.OffsiteReport) (store.Job, error) {
	return jobs.ApplyOffsiteReport(ctx, w.Store.Tenant(marketplace), job, r)
}

// Runner does the scheduled tasks of the environment, as a leader does. Tests call its rounds.
func (w *Environment) Runner() *jobs.Runner {
	return &jobs.Runner{
		Store: w.Store, Leader: func() bool { return true }, Marketplaces: func() []uint16 { return []uint16{Main, Other} },
		Log: slog.New(slog.NewTextHandler(&w.log, nil)),
		Workers: []jobs.Worker{
			jobs.UploadWorker(), w.Offsite.Worker(), jobs.AnswerWorker(), (&jobs.Models{Background: w.background, Now: w.Now}).Worker(),
			jobs.DeliveryWorker(delivery.NewClient(true), w.Now, slog.New(slog.NewTextHandler(&w.log, nil))),
		},
	}
}

// Recovery completes unfinished transfers and notifications, as a leader does. Tests call its rounds.
func (w *Environment) Recovery() *jobs.MoneyRecovery {
	r := w.Runner()
	return &jobs.MoneyRecovery{Store: w.Store, Leader: r.Leader, Marketplaces: r.Marketplaces, Now: w.Now, Log: r.Log}
}

// Notices moves stored notices to the list of deliveries, as a leader does. Tests call its rounds.
func (w *Environment) Notices() *jobs.NoticeMover {
	r := w.Runner()
	return &jobs.NoticeMover{Store: w.Store, Leader: r.Leader, Marketplaces: r.Marketplaces, Log: r.Log}
}

// roundsMax is how many rounds Work runs. BOUND: work that creates new work for ever is a defect.
const roundsMax = 1000

// Work does due tasks until there are none.
func (w *Environment) Work(t testing.TB) {
	t.Helper()
	w.Recovery().Round(t.Context())
	w.Notices().Round(t.Context())
	r := w.Runner()
	for range roundsMax {
		done := 0
		for _, worker := range r.Workers {
			done += r.Round(t.Context(), worker)
		}
		if done == 0 {
			return
		}
	}
	t.Fatal("the work does not end")
}
