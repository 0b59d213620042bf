package attack

import "context"

// idle keeps silent connections open on all three listeners, more than the node may have files, and opens a new one for each that the node
// closes.
type idle struct{ nothing }

func (idle) Attack(ctx context.Context, e *Env) error {
	listeners := []struct{ name, address string }{{"8080", e.Target.Auction}, {"8081", e.Target.Manage}, {"peer", e.Target.Peer}}
	several(len(listeners), func(i int) {
		e.keepConnections(ctx, listeners[i].name, listeners[i].address, e.Target.Connections, nil, nil)
	})
	return nil
}
