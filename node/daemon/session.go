package daemon

import (
	"context"
	"errors"

	"github.com/gavel-ads/gavel/node/cluster"
	"github.com/gavel-ads/gavel/node/manage"
	"github.com/gavel-ads/gavel/node/store"
)

// openSession starts the session of a management request. Unless the request accepts local state
// (`?consistency=local`), it waits for a read barrier of the meta group at once, because settings and keys are read
// from what this node publishes; barriers of other groups follow when they are read. It returns an error with
// manage.ErrToken for a malformed X-Gavel-Token. The returned function gives the token that stands for the session's
// writes.
func (n *node) openSession(ctx context.Context, marketplace uint16, r manage.Consistency) (store.Tenant, func() string, error) {
	session := store.NewSession(ctx, r.Local)
	if err := n.waitForToken(ctx, marketplace, r.Token); err != nil {
		return store.Tenant{}, nil, err
	}
	tenant := n.store.Tenant(marketplace).WithSession(session)
	if err := tenant.AwaitCurrent(n.topology.Meta()); err != nil {
		return store.Tenant{}, nil, err
	}
	return tenant, func() string {
		if wrote := session.LastWrites(); len(wrote) > 0 {
			return cluster.Token(wrote).String()
		}
		return ""
	}, nil
}

// errTooManyTokenWaits is returned when tokenWaitsMax requests of all marketplaces, or tokenWaitsTenantMax of one, wait
// already.
var errTooManyTokenWaits = errors.New("too many requests wait until this node has applied the writes of their X-Gavel-Token")

// waitForToken waits until this node has applied the writes that a token stands for.
func (n *node) waitForToken(ctx context.Context, marketplace uint16, token string) error {
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
		return errTooManyTokenWaits
	}
	for g, index := range t {
		if err := n.cluster.WaitApplied(ctx, g, index); err != nil {
			return err
		}
	}
	return nil
}
