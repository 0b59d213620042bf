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

// Scratch is the memory of one request at a time: what it is parsed into, what its auctions work in, and its answer. It is
// pooled, so that a request allocates nothing once the pool is warm.
//
// It also carries what is dear to make and good for many requests: a token signer, a random source, the keys it verified
// last, and a block of auction numbers that no other Scratch has.
//
// OWNERSHIP: between Acquire and Release it belongs to the caller. Status, Body and Fields alias it and are dead after
// Release.
// INVARIANT: nothing that a request left here is visible to the next one, which may be another tenant's: the parsers reset
// every element they use, and a scratch whose request panicked is thrown away.
type Scratch struct {
	Request Request // Set by the door.
	Status  int
	Body    []byte // Empty only with 204.
	Fields  []Field

	core   *Core
	stripe *metrics.Stripe
	memo   auth.Memo
	random *rand.ChaCha8
	op     Operation
	code   apierr.Code
	broken bool // A panic was caught: what is in here is in no known state.

	authenticated bool // The request had a valid key.
	// answered is when the answer was ready, where the core had to know; else zero.
	answered time.Time

	fields  [fieldsMax]Field
	path    []byte
	minted  []byte
	message []byte

	request auction.Request
	results auction.Results
	auction auction.Scratch
	ticket  auction.Ticket
	stale   auction.Groups // What ticket.Stale points to, if anything.
	fault   wire.Fault
	hasher  hasher         // Of the users of auctions.
	keyring *bidid.Keyring // What signer signs with.
	signer  bidid.Signer
	// Auction numbers reserved for this scratch: next and up to before end.
	numberNext, numberEnd uint64
	undrawn               uint64 // Requests until the next that is kept for explanation.

	event eventScratch
}

// scratchMax is the memory above which a scratch is dropped instead of pooled. BOUND: one hostile body must not pin
// memory; requests of up to 4,096 ids stay far below.
const scratchMax = 512 << 10

// numberBlock is how many auction numbers a scratch reserves at a time, so that the shared counter is touched once in
// hundreds of requests. Numbers of a dropped scratch are lost; 48 bits last for thousands of years of that.
const numberBlock = 4096

func newScratch(c *Core) *Scratch {
	var seed [32]byte
	_, _ = cryptorand.Read(seed[:]) // Never fails: the runtime ends the process instead.
	sc := &Scratch{
		core: c, stripe: c.Metrics.Stripe(), random: rand.NewChaCha8(seed),
		Body: make([]byte, 0, 8<<10), path: make([]byte, 0, 256),
		minted: make([]byte, 0, ids.TextLen), message: make([]byte, 0, 256),
	}
	if c.recent != nil {
		sc.undrawn = sc.random.Uint64() % c.recent.every
	}
	return sc
}

// Acquire returns a scratch for one request.
func (c *Core) Acquire() *Scratch { return c.scratches.Get().(*Scratch) } //nolint:forcetypeassert // The pool's New.

// Took is how long the answer took since Request.Now. It reads the clock only where the core has not.
func (sc *Scratch) Took() time.Duration {
	if sc.answered.IsZero() {
		return time.Since(sc.Request.Now)
	}
	return sc.answered.Sub(sc.Request.Now)
}

// Release counts the answered request and gives the scratch back. took is how long it was since Request.Now.
func (sc *Scratch) Release(took time.Duration) {
	sc.stripe.Request(int(sc.op), int(sc.code), took)
	sc.Request = Request{} // What it refers to is the door's.
	if sc.broken || sc.size() > scratchMax {
		return
	}
	sc.request.Body, sc.request.Sieve = nil, market.Sieve{} // Of a view that may go.
	sc.event.forget()
	sc.core.scratches.Put(sc)
}

func (sc *Scratch) begin() {
	sc.Status, sc.Body, sc.Fields, sc.message = 0, sc.Body[:0], sc.fields[:0], sc.message[:0]
	sc.answered = time.Time{}
	sc.authenticated = false
}

// size estimates the memory a scratch holds on to.
func (sc *Scratch) size() int {
	const (
		idSize     = 64 // 16 of its own; the rest is what the engine keeps for every id that may win.
		winnerSize = 384

		variationSize = 16
	)
	n := cap(sc.Body) + cap(sc.path) + cap(sc.message) + cap(sc.request.Arena) + sc.event.size()
	auctions, results := sc.request.Auctions[:cap(sc.request.Auctions)], sc.results.Results[:cap(sc.results.Results)]
	for i := range auctions { // By index: the elements are hundreds of bytes.
		n += idSize*cap(auctions[i].Products) + 4*cap(auctions[i].Quality) + variationSize*cap(auctions[i].Variations)
	}
	for i := range results {
		n += winnerSize * cap(results[i].Winners)
	}
	return n
}

// refuse keeps the text of a refusal for finish; an empty one stands for the code's own.
func (sc *Scratch) refuse(code apierr.Code, message string) apierr.Code {
	sc.message = append(sc.message[:0], message...)
	return code
}

// refuseFault does the same for a violation that the parser found.
func (sc *Scratch) refuseFault(code apierr.Code) apierr.Code {
	sc.message = sc.fault.AppendMessage(sc.message[:0])
	return code
}

// refusal makes the answer of a refusal.
func (sc *Scratch) refusal(c *Core, code apierr.Code) {
	sc.Body = apierr.Append(sc.Body[:0], code, sc.message, c.PublicURL)
	switch code {
	case apierr.InvalidAPIKey:
		sc.stripe.Unauthorized()
		sc.add(nameAuthenticate, valueBearer)
	case apierr.ForbiddenAPIKey:
		sc.stripe.Forbidden()
	case apierr.ServiceUnavailable:
		// Jittered, so that clients that were refused together do not come back together.
		sc.add(nameRetryAfter, valuesRetrySecond[sc.random.Uint64()%uint64(len(valuesRetrySecond))])
	default: // The others say everything in their body.
	}
}

// caught turns a panic of a read path into an answer. It is deferred where a request only reads: there a defect costs one
// request. Nothing on the way to the ledger is caught.
func (sc *Scratch) caught(code *apierr.Code) {
	cause := recover()
	if cause == nil {
		return
	}
	sc.broken = true
	sc.stripe.Panic()
	sc.core.Log.Error("request_panicked", slog.Any("cause", cause), slog.String("stack", string(debug.Stack())))
	*code = sc.refuse(apierr.InternalServerError, "")
}

// numbers reserves n auction numbers and returns the first.
func (sc *Scratch) numbers(n int) uint64 {
	if sc.numberNext+uint64(n) > sc.numberEnd { //nolint:gosec // At most 5.
		sc.numberEnd = sc.core.auctionNumber.Add(numberBlock)
		sc.numberNext = sc.numberEnd - numberBlock
	}
	first := sc.numberNext
	sc.numberNext += uint64(n) //nolint:gosec // At most 5.
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
