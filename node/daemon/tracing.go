package daemon

import (
	"context"
	"net/http"

	"github.com/gavel-ads/gavel/node/cluster"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/node/tracing"
	"github.com/gavel-ads/gavel/shard/ids"
)

// openTracing starts sending traces when a collector is configured.
func (n *node) openTracing(ctx context.Context) error {
	c := n.cfg.Tracing
	if c.Endpoint == "" {
		return nil
	}
	var err error
	if n.tracer, err = tracing.New(ctx, tracing.Config{Endpoint: c.Endpoint, Every: c.Every, Node: n.cfg.NodeID, Version: n.version}, n.log); err != nil {
		return err
	}
	n.push("traces", func(ctx context.Context) error { n.tracer.Close(ctx); return nil })
	return nil
}

// traceRequest returns what begins the span of a management request; nil without tracing.
func (n *node) traceRequest() func(r *http.Request, operation, route, requestID string) (*http.Request, func(status int)) {
	if n.tracer == nil {
		return nil
	}
	return n.tracer.Request
}

// proposers are the raft groups as the store and the core of /v2 use them.
type proposers interface {
	store.Groups
	serving.Proposer
}

// proposers returns the raft groups, with spans of their commits when those are traced.
func (n *node) proposers() proposers {
	if n.tracer == nil {
		return n.cluster
	}
	return tracedGroups{n.cluster, n.tracer}
}

// tracedGroups are raft groups whose commits are traced.
type tracedGroups struct {
	*cluster.Cluster

	tracer *tracing.Tracer
}

func (t tracedGroups) Propose(ctx context.Context, g ids.Group, cmd []byte) ([]byte, error) {
	end := t.tracer.Commit(ctx, int(g), len(cmd))
	result, err := t.Cluster.Propose(ctx, g, cmd)
	end(err)
	return result, err
}

func (t tracedGroups) ProposeAt(ctx context.Context, g ids.Group, cmd []byte) ([]byte, uint64, error) {
	end := t.tracer.Commit(ctx, int(g), len(cmd))
	result, index, err := t.Cluster.ProposeAt(ctx, g, cmd)
	end(err)
	return result, index, err
}
