package serving

import "github.com/gavel-ads/gavel/node/apierr"

// NeedsBody reports whether the answer to the request in sc.Request depends on its body, and to which marketplace its key
// belongs. If it reports false, Serve gives the same answer without a body: the path, the method, the key or the
// marketplace is refused, or the operation takes no body. A listener calls it when it has the head of a request and not yet
// the body, so that it stores nothing for a request that is refused anyway. It changes nothing that Serve reads.
func (c *Core) NeedsBody(sc *Scratch) (marketplace uint16, needs bool) {
	r := &sc.Request
	t := c.route(sc, r)
	if t.malformed || t.endpoint == nil || t.endpoint == healthEndpoint || !t.endpoint.serves(r.Method) {
		return 0, false
	}
	m, _, code := sc.authorize(c.View(), r)
	if code != apierr.OK {
		return 0, false
	}
	return m.Ordinal, true
}

// Authenticated reports whether the request that was served had a valid key.
func (sc *Scratch) Authenticated() bool { return sc.authenticated }

// Discard returns a scratch to the pool that was used only for NeedsBody. No request is counted.
func (sc *Scratch) Discard() {
	sc.Request = Request{}
	sc.core.scratches.Put(sc)
}
