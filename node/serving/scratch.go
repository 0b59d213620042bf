package serving

import (
	cryptorand "crypto/rand"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/node/metrics"
	"github.com/gavel-ads/gavel/node/wire"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
)

// Scratch is the memory of one request at a time: the parsed request, the working memory of its auctions, and its answer.
// It is pooled, so that a request allocates nothing once the pool is warm.
//
// It also keeps objects that are expensive to make and serve many requests: a token signer, a random source, the keys it
// verified last, and a block of auction numbers that no other Scratch has.
//
// OWNERSHIP: between Acquire and Release it belongs to the caller. Status, Body and Fields alias it and must not be used
// after Release.
// INVARIANT: no value of one request is visible to the next, which may belong to another tenant: the parsers reset every
// element they use, and a scratch whose request panicked is not returned to the pool.
type Scratch struct {
	Request Request // Set by the listener.
	Status  int
	Body    []byte // Empty only with status 204.
	Fields  []Field

	core     *Core
	stripe   *metrics.Stripe
	memo     auth.Memo
	random   *rand.ChaCha8
	op       Operation
	code     apierr.Code
	panicked bool // The request panicked, so the state of this scratch is unknown.

	authenticated bool // The request had a valid key.
	// answered is the time at which the answer was ready. It is zero for operations that do not read it.
	answered time.Time

	fields  [fieldsMax]Field
	path    []byte
	minted  []byte
	message []byte

	request auction.Request
	results auction.Results
	auction auction.Scratch
	ticket  auction.Params
	stale   auction.Groups // The target of ticket.Stale, unless that is nil.
	fault   wire.Fault
	hasher  hasher         // Hashes the users of auctions.
	keyring *bidid.Keyring // The keyring that signer uses.
	signer  bidid.Signer
	// The auction numbers from numberNext to numberEnd-1 are reserved for this scratch.
	numberNext, numberEnd uint64
	untilSample           uint64 // The number of requests before the next one that is sampled.
	trafficStripe         uint32 // The stripe in which market.View.CountAuctions counts.

	event eventScratch
	link  wire.Link
}

// scratchMax is the size in bytes above which a scratch is dropped instead of pooled. BOUND: one hostile body must not pin
// memory; requests of up to 4,096 ids stay far below.
const scratchMax = 512 << 10

// numberBlock is how many auction numbers a scratch reserves at a time, so that the shared counter is written once in
// hundreds of requests. The numbers of a dropped scratch are lost; 48 bits last for thousands of years nevertheless.
const numberBlock = 4096

func newScratch(c *Core) *Scratch {
	var seed [32]byte
	_, _ = cryptorand.Read(seed[:]) // Read never returns an error: the runtime ends the process instead.
	sc := &Scratch{
		core: c, stripe: c.Metrics.Stripe(), random: rand.NewChaCha8(seed), trafficStripe: c.scratchNumber.Add(1),
		Body: make([]byte, 0, 8<<10), path: make([]byte, 0, 256),
		minted: make([]byte, 0, ids.TextLen), message: make([]byte, 0, 256),
	}
	if c.recent != nil {
		sc.untilSample = sc.random.Uint64() % c.recent.every
	}
	return sc
}

// Acquire returns a scratch for one request.
func (c *Core) Acquire() *Scratch { return c.scratches.Get().(*Scratch) } //nolint:forcetypeassert // The pool's New.

// Took returns the time from Request.Now to the answer. It reads the clock only if the core has not done so.
func (sc *Scratch) Took() time.Duration {
	if sc.answered.IsZero() {
		return time.Since(sc.Request.Now)
	}
	return sc.answered.Sub(sc.Request.Now)
}

// Release counts the answered request and returns the scratch to the pool. took is the request's duration, counted from
// Request.Now.
func (sc *Scratch) Release(took time.Duration) {
	sc.stripe.Request(int(sc.op), int(sc.code), took)
	if sc.core.Access != nil {
		sc.logged(took)
	}
	sc.Request = Request{} // Its slices belong to the listener.
	if sc.panicked || sc.size() > scratchMax {
		return
	}
	sc.request.Body, sc.request.TagFilter = nil, market.TagFilter{} // The filter would keep an old view in memory.
	sc.event.clearBody()
	sc.link.From, sc.link.To = nil, nil
	sc.core.scratches.Put(sc)
}

func (sc *Scratch) begin() {
	sc.Status, sc.Body, sc.Fields, sc.message = 0, sc.Body[:0], sc.fields[:0], sc.message[:0]
	sc.answered = time.Time{}
	sc.authenticated = false
}

// size estimates the memory that a scratch occupies, in bytes.
func (sc *Scratch) size() int {
	const (
		idSize     = 64 // The id itself has 16 bytes; the engine keeps the rest for every id that may win.
		winnerSize = 384

		variationSize = 16
	)
	n := cap(sc.Body) + cap(sc.path) + cap(sc.message) + cap(sc.request.Arena) + cap(sc.link.Arena) + sc.event.size()
	auctions, results := sc.request.Auctions[:cap(sc.request.Auctions)], sc.results.Results[:cap(sc.results.Results)]
	for i := range auctions { // By index, because the elements have hundreds of bytes.
		n += idSize*cap(auctions[i].Products) + 4*cap(auctions[i].Quality) + variationSize*cap(auctions[i].Variations)
	}
	for i := range results {
		n += winnerSize * cap(results[i].Winners)
	}
	return n
}

// refuse stores the message of a refusal for finish and returns the code. An empty message means the code's own one.
func (sc *Scratch) refuse(code apierr.Code, message string) apierr.Code {
	sc.message = append(sc.message[:0], message...)
	return code
}

// refuseFault stores the message of a violation that the parser found and returns the code.
func (sc *Scratch) refuseFault(code apierr.Code) apierr.Code {
	sc.message = sc.fault.AppendMessage(sc.message[:0])
	return code
}

// refusal writes the answer of a refusal: its body, and the header fields that depend on the code.
func (sc *Scratch) refusal(c *Core, code apierr.Code) {
	sc.Body = apierr.Append(sc.Body[:0], code, sc.message, c.PublicURL)
	switch code {
	case apierr.InvalidAPIKey:
		sc.stripe.Unauthorized()
		sc.add(nameAuthenticate, valueBearer)
	case apierr.ForbiddenAPIKey:
		sc.stripe.Forbidden()
	case apierr.ServiceUnavailable:
		// The value is random, so that clients that were refused together do not repeat their requests together.
		sc.add(nameRetryAfter, valuesRetrySecond[sc.random.Uint64()%uint64(len(valuesRetrySecond))])
	default: // The other codes need no header field.
	}
}

// recoverPanic turns a panic into an answer of 500. It is deferred only where a request reads and changes nothing, so that
// a defect there costs one request. Panics after an event was proposed are not recovered.
func (sc *Scratch) recoverPanic(code *apierr.Code) {
	cause := recover()
	if cause == nil {
		return
	}
	sc.panicked = true
	sc.stripe.Panic()
	sc.core.Log.Error("request_panicked", slog.Any("cause", cause), slog.String("stack", string(debug.Stack())))
	*code = sc.refuse(apierr.InternalServerError, "")
}

// numbers returns the first of n consecutive auction numbers that belong to the caller.
func (sc *Scratch) numbers(n int) uint64 {
	if sc.numberNext+uint64(n) > sc.numberEnd { // At most 5.
		sc.numberEnd = sc.core.auctionNumber.Add(numberBlock)
		sc.numberNext = sc.numberEnd - numberBlock
	}
	first := sc.numberNext
	sc.numberNext += uint64(n) // At most 5.
	return first
}

// sign returns the scratch's signer of the current token key.
func (sc *Scratch) sign(keyring *bidid.Keyring) *bidid.Signer {
	if sc.keyring != keyring {
		sc.keyring = keyring
		sc.signer.Use(keyring)
	}
	return &sc.signer
}
