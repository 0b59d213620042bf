// Package serving is the core of /v2: everything between a request's bytes and its answer's bytes that does not depend on
// the HTTP server in front. Both doors (node/hotpath and node/manage) call Core.Serve with the same values and send what
// it leaves in the Scratch, so the two listeners cannot differ.
//
// See DESIGN.md for the order of checks and what is promised.
package serving

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/node/metrics"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

// Proposer commits a command in a raft group and returns the machine's answer. An error means that the command was not
// applied or that nobody knows; it may be proposed again.
type Proposer interface {
	Propose(ctx context.Context, group ids.Group, cmd []byte) (result []byte, err error)
}

// Deps are what a Core needs from the rest of the node. Every function is called concurrently and must not block.
type Deps struct {
	Keys     *auth.Table
	View     func() *market.View
	Keyring  func() *bidid.Keyring // Opens and signs tokens; nil before the first start of the cluster is through.
	Secret   func() *[32]byte      // Keys the hashes of event ids, tokens and users (command.Secrets.Duplicate); nil as above.
	Topology ids.Topology
	Proposer Proposer
	// Location is the time zone of a marketplace; nil is UTC.
	Location func(marketplace uint16) *time.Location
	// CatalogPrice is the price of a product that a purchase names without one, 0 when unknown.
	CatalogPrice func(marketplace uint16, product []byte) money.Micros
	// Level is the feature level that a group has reached; nil: none.
	Level func(ids.Group) command.Level
	// ExternalCampaign is the campaign with an external id, zero when unknown.
	ExternalCampaign func(marketplace uint16, id []byte) ids.UUID
	// Stale adds the raft groups whose balances are too old to sell from at a time, and reports whether there are any; nil:
	// never.
	Stale func(at time.Time, into *auction.Groups) bool
	// Frequency counts for frequency caps; nil: they do not apply.
	Frequency auction.FrequencyCounter

	Metrics   *metrics.Metrics
	Log       *slog.Logger
	Node      uint16 // Number of this node, part of every token,
	Epoch     uint32 // and of its start: always growing.
	PublicURL string // server.public_url without a final slash, for links to the documentation.
	// CORSOrigins are the origins that browsers may call from; empty or "*" is every origin.
	CORSOrigins []string
	// AuctionBodyMax and EventBodyMax bound the bodies, in bytes; 0 is the interface's limit.
	AuctionBodyMax, EventBodyMax int
	// ExplainEvery keeps one auction request in so many, explained for Recent and recorded for Replay; 0 keeps none.
	ExplainEvery int
	// Suppose is the view of a market in which a supposition holds; nil: Replay has nothing to tell.
	Suppose func(*market.Supposition) *market.View
	// Started is when this core began to answer: what Replay extrapolates from begins there.
	Started time.Time
}

// Core answers /v2 and /healthz. It is safe for concurrent use; each request brings a Scratch of its own.
type Core struct {
	Deps
	cors          cors
	scratches     sync.Pool
	auctionNumber atomic.Uint64 // Next auction number that no Scratch has reserved.
	eventsRunning atomic.Int64
	recent        *recent // Nil: no live auctions are kept.
	tape          *tape   // Nil: as recent.
}

// New returns the core of a node.
func New(d Deps) *Core {
	if d.AuctionBodyMax == 0 {
		d.AuctionBodyMax = BodyMax
	}
	if d.EventBodyMax == 0 {
		d.EventBodyMax = eventsBodyMax
	}
	c := &Core{Deps: d, cors: newCORS(d.CORSOrigins), recent: newRecent(d.ExplainEvery)}
	if c.recent != nil {
		c.tape = newTape(d.Started.UnixMilli())
	}
	c.scratches.New = func() any { return newScratch(c) }
	return c
}

// BodyMax is how much of a body a door reads before it gives up and sets BodyTooLarge.
func (c *Core) BodyMax() int { return max(c.AuctionBodyMax, c.EventBodyMax) }

// Serve answers the request in sc.Request: it sets Status, Body and Fields of sc. It never fails; what goes wrong is an
// answer.
//
// The order of the checks is the interface's: path, method, key, body size, syntax, field rules, state.
// OWNERSHIP: the slices of the request and of the answer are valid until sc is released; nothing of either is kept.
func (c *Core) Serve(sc *Scratch) {
	r := &sc.Request // Part of the scratch, because a value of the door's would escape to the heap with every request.
	sc.begin()
	t := c.route(sc, r)
	op, code := c.dispatch(sc, r, t)
	sc.finish(c, r, t, op, code)
}

// Refuse answers a request that the door itself refuses, before anything of it could be routed.
func (c *Core) Refuse(sc *Scratch, code apierr.Code, message string) {
	sc.begin()
	sc.finish(c, &sc.Request, target{onV2: true}, OpUnknown, sc.refuse(code, message))
}

func (c *Core) dispatch(sc *Scratch, r *Request, t target) (Operation, apierr.Code) {
	switch {
	case t.broken:
		return OpUnknown, sc.refuse(apierr.BadRequest, "the request is not well-formed HTTP")
	case t.endpoint == nil:
		return OpUnknown, sc.refuse(apierr.ResourceNotFound, r.UnknownPath)
	case string(r.Method) == "OPTIONS":
		return OpPreflight, apierr.OK
	case !t.endpoint.serves(r.Method):
		sc.add(nameAllow, t.endpoint.allow)
		return t.endpoint.op, sc.refuse(apierr.MethodNotAllowed, "")
	}
	return t.endpoint.op, t.endpoint.handle(c, sc, r)
}

// health answers GET /healthz: the process runs and its door is open. It needs no key and reads no state.
func (c *Core) health(sc *Scratch, _ *Request) apierr.Code {
	sc.Body = append(sc.Body[:0], `{"status":"ok"}`...)
	return apierr.OK
}
