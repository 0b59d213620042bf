package daemon

import (
	"context"
	"errors"

	"github.com/gavel-ads/gavel/node/cluster"
	"github.com/gavel-ads/gavel/node/manage"
	"github.com/gavel-ads/gavel/node/store"
)

// openSession begins the session of a management request. Unless it is content with what is here, the meta group is brought
// up to date at once, because settings and keys are read from what this node publishes; the other groups follow when they
// are read.
func (n *node) openSession(ctx context.Context, marketplace uint16, r manage.Reads) (manage.Tenant, func() string, error) {
	session := store.NewSession(ctx, r.Local)
	if err := n.await(ctx, marketplace, r.Token); err != nil {
		return nil, nil, err
	}
	tenant := n.store.Tenant(marketplace).In(session)
	if err := tenant.Fresh(n.topology.Meta()); err != nil {
		return nil, nil, err
	}
	return tenant, func() string {
		if wrote := session.Wrote(); len(wrote) > 0 {
			return cluster.Token(wrote).String()
		}
		return ""
	}, nil
}

// errTokenWaits is returned when too many requests wait already.
var errTokenWaits = errors.New("too many requests wait for what their X-Gavel-Token stands for")

// await waits until this node has what a token stands for.
func (n *node) await(ctx context.Context, marketplace uint16, token string) error {
	if token == "" {
		return nil
	}
	t, err := n.cluster.Parse(token)
	if err != nil {
		return errors.Join(manage.ErrToken, err)
	}
	waits := n.resources.tokenWaits.Lease(marketplace)
	defer waits.Release()
	if !waits.Grow(1) {
		return errTokenWaits
	}
	for g, index := range t {
		if err := n.cluster.WaitApplied(ctx, g, index); err != nil {
			return err
		}
	}
	return nil
}
