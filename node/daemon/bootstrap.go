package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gavel-ads/gavel/node/cluster"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// pollInterval is how often a starting node checks whether a condition that it waits for holds.
const pollInterval = 50 * time.Millisecond

// bootstrap brings the node to the point where it can serve: every group has a leader and this node has applied what
// the leader had committed, a node has created the first marketplace, its secrets are published here, and the replicas
// are fresh.
func (n *node) bootstrap(ctx context.Context) error {
	n.startup.setReason("waiting until every group has a leader")
	if err := n.cluster.WaitReady(ctx); err != nil {
		return err
	}
	n.cluster.Start(context.WithoutCancel(ctx))
	n.push("clocks", func(context.Context) error { n.cluster.Close(); return nil })
	n.startup.setReason("waiting until the leader has created the first marketplace")
	all, err := n.firstMarketplaces(ctx)
	if err != nil {
		return fmt.Errorf("create the cluster: %w", err)
	}
	if err := n.finishKeysFile(all[0].ID); err != nil {
		return err
	}
	if n.cluster.Leads(n.topology.Meta()) {
		if err := n.announceSettings(ctx); err != nil {
			return err
		}
	}
	n.startup.setReason("waiting until this node's replicas are up to date")
	err = waitUntil(ctx, func() bool {
		return n.publisher.View().Marketplace(all[0].Ordinal) != nil && n.publisher.secrets.Load() != nil && n.replicaAges.Fresh()
	})
	if err != nil {
		return err
	}
	if err := n.checkPresets(); err != nil {
		return err
	}
	n.cluster.Tick(ctx)
	return nil
}

// startCounting starts what counts the auctions of this node: the pacing of campaigns and the reports of what they win
// and lose.
func (n *node) startCounting(ctx context.Context) error {
	n.startPacing(ctx)
	n.startTally(ctx)
	return nil
}

// waitUntil polls a condition until it holds or ctx ends, whose error it returns.
func waitUntil(ctx context.Context, met func() bool) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for !met() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return nil
}

// firstMarketplaces returns all marketplaces, at least one: the leader of the meta group creates the first.
func (n *node) firstMarketplaces(ctx context.Context) (all []model.Marketplace, err error) {
	var first *bootstrapCommand
	waited := waitUntil(ctx, func() bool {
		if all, err = n.marketplaces(); err != nil || len(all) > 0 {
			return true
		}
		if !n.cluster.Leads(n.topology.Meta()) || n.cluster.Barrier(ctx, n.topology.Meta()) != nil {
			return false
		}
		// The log of a new leader may hold the command of the previous one; the barrier has applied it.
		if all, err = n.marketplaces(); err != nil || len(all) > 0 {
			return true
		}
		if first == nil {
			if first, err = n.prepareBootstrap(); err != nil {
				return true
			}
		}
		// After an unknown outcome the next poll proposes the same bytes again, so the keys stay the same.
		if _, _, unknown := n.cluster.ProposeAt(ctx, n.topology.Meta(), first.command); unknown != nil && !errors.Is(unknown, cluster.ErrUnavailable) {
			err = unknown
			return true
		}
		return false
	})
	if first != nil && len(all) > 0 && all[0].ID == first.marketplace {
		n.firstKeys = first.keys
	}
	return all, errors.Join(err, waited)
}

func (n *node) marketplaces() (all []model.Marketplace, err error) {
	err = n.cluster.Read(n.topology.Meta(), func(r shard.Reader) error {
		all = shard.Queries{R: r}.Marketplaces()
		return nil
	})
	return all, err
}

// announceSettings makes sure that every group has the settings of all marketplaces.
func (n *node) announceSettings(ctx context.Context) error {
	all, err := n.marketplaces()
	if err != nil {
		return err
	}
	for _, m := range all {
		if _, err := n.store.Tenant(m.Ordinal).PropagateSettings(ctx); err != nil {
			return err
		}
	}
	return nil
}

// finishKeysFile finishes a keys file that was written before its command was proposed: it is renamed to its final name
// when the cluster's first marketplace is the one that it names, and removed when another node's command was applied.
func (n *node) finishKeysFile(marketplace ids.UUID) error {
	if n.cfg.KeysFile == "" {
		return nil
	}
	pending := pendingKeys(n.cfg.KeysFile)
	keys, err := readKeys(pending)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err == nil && keys.Marketplace == marketplace.String():
		err = os.Rename(pending, n.cfg.KeysFile)
	case err == nil || errors.Is(err, errTorn): // The command of an incomplete file was never proposed.
		err = os.Remove(pending)
	}
	if err != nil {
		return fmt.Errorf("keys_file: %w", err)
	}
	return nil
}
