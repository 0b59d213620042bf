package daemon

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/delivery"
	"github.com/gavel-ads/gavel/node/jobs"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
)

// startJobs starts the background work: scheduled tasks and the recovery of transfers, on the leader of the meta group,
// and the deletion of files that nothing refers to.
func (n *node) startJobs() {
	leads := func() bool { return n.cluster.Leads(n.topology.Meta()) }
	out := delivery.NewClient(n.cfg.Webhooks.Development)
	runner := &jobs.Runner{
		Store: n.store, Leader: leads, Marketplaces: n.ordinals, Log: n.log,
		Workers: []jobs.Worker{
			jobs.UploadWorker(), n.offsite().Worker(), jobs.DeliveryWorker(out, time.Now, n.log), jobs.AnswerWorker(),
			(&jobs.Models{Background: n.background, Now: time.Now}).Worker(),
		},
	}
	if mailJobs, configured := n.mailQueue(); configured {
		runner.Workers = append(runner.Workers, mailJobs)
	}
	ctx, stop := context.WithCancel(context.Background())
	runner.Start(ctx)
	sweeper := &jobs.Sweeper{Blobs: n.blobs, Store: n.store, ShouldSweep: leads, Now: time.Now, Log: n.log}
	if n.sharedBlobs != nil {
		sweeper.Blobs = n.sharedBlobs.Local()
	}
	if n.cfg.Blob.Driver == "local" {
		sweeper.ShouldSweep = func() bool { return true }
	}
	money := &jobs.MoneyRecovery{Store: n.store, Leader: leads, Marketplaces: n.ordinals, Now: time.Now, Log: n.log, Observe: func(all []jobs.TransitSummary) { n.transit.Store(&all) }}
	notices := &jobs.NoticeMover{Store: n.store, Leader: leads, Marketplaces: n.ordinals, Log: n.log}
	memberships := &jobs.SegmentEvaluation{Store: n.store, Leader: leads, Marketplaces: n.ordinals, Log: n.log}
	crediting := &jobs.PurchaseCrediting{Store: n.store, Groups: n.dataGroups(), Leads: n.cluster.Leads, Log: n.log}
	var others sync.WaitGroup
	others.Go(func() { sweeper.Run(ctx) })
	others.Go(func() { n.pruneAudit(ctx, leads) })
	others.Go(func() { money.Run(ctx) })
	others.Go(func() { notices.Run(ctx) })
	others.Go(func() { crediting.Run(ctx) })
	others.Go(func() { memberships.Run(ctx) })
	n.push("jobs", func(context.Context) error {
		stop()
		runner.Close()
		others.Wait()
		out.Close()
		return nil
	})
}

// dataGroups returns the groups that have campaigns and purchases.
func (n *node) dataGroups() []ids.Group {
	return slices.DeleteFunc(n.topology.Groups(), func(g ids.Group) bool { return !g.CarriesCampaigns() })
}

// ordinals returns the ordinals of all marketplaces.
func (n *node) ordinals() []uint16 {
	var all []uint16
	view := n.publisher.View()
	for ordinal := uint16(1); view.Marketplace(ordinal) != nil; ordinal++ {
		all = append(all, ordinal)
	}
	return all
}

// offsite returns the service that runs the jobs of ad networks, with the configured connectors.
func (n *node) offsite() *jobs.Offsite {
	connectors := map[string]jobs.Connector{}
	for _, c := range n.cfg.Offsite.List() {
		if c.URL == config.Sandbox {
			connectors[c.Network] = jobs.SandboxConnector{Now: time.Now}
			continue
		}
		connectors[c.Network] = jobs.WebhookConnector{URL: c.URL, Secret: n.cfg.Offsite.ConnectorSecret.Reveal(), Out: delivery.NewClient(n.cfg.Webhooks.Development)}
	}
	public := n.cfg.PublicURL(n.manage.Addr().String())
	return &jobs.Offsite{
		Blobs: n.blobs, Connectors: connectors, Now: time.Now,
		ListURL: func(t store.Tenant, x *store.Audience) string { return jobs.ExportURL(public, t, x, time.Now()) },
	}
}

// recordJobReport records what a connector reports about a job. Any node can do it.
func (n *node) recordJobReport(ctx context.Context, marketplace uint16, job ids.UUID, r jobs.OffsiteReport) (store.Job, error) {
	return jobs.ApplyOffsiteReport(ctx, n.store.Tenant(marketplace).WithSession(store.NewSession(ctx, false)), job, r)
}
