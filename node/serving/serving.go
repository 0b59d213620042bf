// Package serving is the core of the /v2 operations: everything between a request's bytes and its answer's bytes that does
// not depend on the HTTP server in front of it. Both listeners (node/hotpath and node/manage) call Core.Serve with the same
// values and send the answer that it leaves in the Scratch, so the two listeners cannot differ.
//
// DESIGN.md describes the order of checks and the promises of the package.
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

// Proposer commits a command in a raft group and returns the state machine's answer. After an error the command was not
// applied, or its outcome is unknown; in both cases it may be proposed again.
type Proposer interface {
	Propose(ctx context.Context, group ids.Group, cmd []byte) (result []byte, err error)
}

// Deps are what a Core needs from the rest of the node. Every function is called concurrently and must not block.
type Deps struct {
	Keys *auth.Table
	// DialogToken reports whether the value of an Authorization header is a valid token of the vendors' dialog, which is
	// known but not accepted here. Without the function it is answered like an unknown key.
	DialogToken func(authorization string, at time.Time) bool

	View     func() *market.View
	Keyring  func() *bidid.Keyring // The keys that open and sign tokens; nil until the cluster's first start has completed.
	Secret   func() *[32]byte      // The key of the hashes of event ids, tokens and users (command.Secrets.Duplicate); nil as above.
	Topology ids.Topology
	Proposer Proposer
	// Location returns the time zone of a marketplace; nil means UTC.
	Location func(marketplace uint16) *time.Location
	// CatalogPrice returns the price of a product that a purchase names without a price, or 0 when it is unknown.
	CatalogPrice func(marketplace uint16, product []byte) money.Micros
	// Level returns the feature level that a group has reached. Without the function every group is at the lowest level.
	Level func(ids.Group) command.Level
	// ExternalCampaign returns the campaign with an external id, or the zero id when it is unknown.
	ExternalCampaign func(marketplace uint16, id []byte) ids.UUID
	// Stale adds to into the raft groups whose balances are too old at a time to spend from, and reports whether there are
	// any. Without the function no group is ever stale.
	Stale func(at time.Time, into *auction.Groups) bool
	// Frequency counts exposures for frequency caps. Without it caps do not apply.
	Frequency auction.FrequencyCounter

	Metrics   *metrics.Metrics
	Log       *slog.Logger
	Access    *AccessLog // Writes requests to the log; nil writes none.
	Node      uint16     // The number of this node. It is part of every token.
	Epoch     uint32     // The number of this start of the node, which grows with every start. It is part of every token.
	PublicURL string     // The setting server.public_url without a final slash, for links to the documentation.
	// CORSOrigins are the origins that browsers may call from; empty or "*" is every origin.
	CORSOrigins []string
	// AuctionBodyMax and EventBodyMax bound the bodies, in bytes; 0 is the interface's limit.
	AuctionBodyMax, EventBodyMax int
	// ExplainEvery is the sampling rate: on average one auction request in ExplainEvery is explained for Recent and recorded
	// for Replay. 0 turns sampling off.
	ExplainEvery int
	// Suppose returns the view of a market in which a supposition holds. Without it Replay finds no requests.
	Suppose func(*market.WhatIf) *market.View
	// Started is the time at which this core began to answer. Replay extrapolates from requests since then.
	Started time.Time
}

// Core answers /v2 and /healthz. It is safe for concurrent use; each request uses a Scratch of its own.
type Core struct {
	Deps
	live          live // Beside what is only read: a request loads it, and the counters below change all the time.
	cors          *CORS
	scratches     sync.Pool
	scratchNumber atomic.Uint32 // The number of Scratches made so far.
	auctionNumber atomic.Uint64 // The next auction number that no Scratch has reserved.
	eventsRunning atomic.Int64  // Events requests that are being answered.
	recent        *recent       // Nil when sampling is off.
	recorder      *recorder     // The recorder; nil when sampling is off.
}

// New returns the core of a node.
func New(d Deps) *Core {
	if d.AuctionBodyMax == 0 {
		d.AuctionBodyMax = BodyMax
	}
	if d.EventBodyMax == 0 {
		d.EventBodyMax = eventsBodyMax
	}
	c := &Core{Deps: d, cors: NewCORS(d.CORSOrigins, ReadableHeaders), recent: newRecent(d.ExplainEvery)}
	if c.recent != nil {
		c.recorder = newRecorder(d.Started.UnixMilli())
	}
	c.scratches.New = func() any { return newScratch(c) }
	return c
}

// BodyMax returns how many bytes of a body a listener reads before it stops and sets BodyTooLarge.
func (c *Core) BodyMax() int { return max(c.AuctionBodyMax, c.EventBodyMax) }

// Serve answers the request in sc.Request: it sets Status, Body and Fields of sc. It returns no error, because every
// failure is an answer.
//
// The order of the checks is the interface's: path, method, key, body size, syntax, field rules, state.
// OWNERSHIP: the slices of the request and of the answer are valid until sc is released; nothing of either is kept.
func (c *Core) Serve(sc *Scratch) {
	r := &sc.Request // The request is part of the scratch, because a value on the listener's stack would escape to the heap.
	sc.begin()
	t := c.route(sc, r)
	op, code := c.dispatch(sc, r, t)
	sc.finish(c, r, t, op, code)
	c.live.offer(sc)
}

// Refuse answers a request that the listener itself refuses before it can be routed.
func (c *Core) Refuse(sc *Scratch, code apierr.Code, message string) {
	sc.begin()
	sc.finish(c, &sc.Request, target{onV2: true}, OpUnknown, sc.refuse(code, message))
}

func (c *Core) dispatch(sc *Scratch, r *Request, t target) (Operation, apierr.Code) {
	switch {
	case t.malformed:
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

// health answers GET /healthz: the process runs and the listener accepts requests. It needs no key and reads no state.
func (c *Core) health(sc *Scratch, _ *Request) apierr.Code {
	sc.Body = append(sc.Body[:0], `{"status":"ok"}`...)
	return apierr.OK
}
