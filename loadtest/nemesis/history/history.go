// Package history records what the clients of a run did and what they saw, for package check to compare when the run is over.
//
// It contains no checks itself. Every operation has the times when it was invoked and when it returned. An operation whose answer never
// came, or did not say whether it took effect, is Unknown and stays Unknown in the history.
package history

import (
	"sync"
	"time"

	"github.com/gavel-ads/gavel/loadtest/shop"
)

// Instant is the time since the beginning of the run, by the monotonic clock of the process that made the operations.
type Instant = time.Duration

// Never is the return time of an operation that may take effect at any time.
const Never Instant = 1<<63 - 1

// Outcome is what a client knows about an operation.
type Outcome uint8

// The outcomes.
const (
	Unknown Outcome = iota // There was no answer, or one that does not say it: the operation may have happened, or may still happen.
	OK                     // It happened.
	Refused                // It did not happen.
)

func (o Outcome) String() string { return [...]string{"unknown", "ok", "refused"}[o] }

// MarshalText returns the outcome as a word.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Array is one of the four arrays of an event report.
type Array uint8

// The arrays, in the order of the interface.
const (
	Impression Array = iota
	Click
	Purchase
	PageView
	Arrays // The number of arrays.
)

// Charges is the number of arrays whose events may be charged: all but page views.
const Charges = Purchase + 1

// UnitPrice is the price of a piece of any product.
const UnitPrice = 999 * shop.MinorUnit

// Names are the members of a request body, by array.
var Names = [Arrays]string{"impressions", "clicks", "purchases", "pageviews"}

// Campaign is a campaign with the terms that it was created with.
type Campaign struct {
	Index  int
	ID     string
	Name   string
	Vendor *Vendor `json:"-"`
	Price  shop.Micros
	Charge Array       // The array whose first event on a token is charged. A purchase is charged when it is credited, seconds later.
	Budget shop.Micros // The budget at creation.
	Daily  bool        // The budget is for each day; otherwise it is for the life of the campaign.
}

// Vendor is a vendor with one wallet and the campaigns that spend from it.
type Vendor struct {
	Index     int
	ID        string
	Deposit   shop.Micros // The deposit at creation.
	Ample     bool        // The wallet never runs out in a run.
	Campaigns []*Campaign
}

// Token is the resolvedBidId of a winner.
type Token struct {
	Text     string
	Campaign *Campaign
	// Price is what a charge of it costs, which it names: the campaign's or, when the campaign had less left at the auction, what it
	// had left, because a bid above what is left of its budget competes with what is left. A paced campaign may pay less, too.
	Price          shop.Micros
	Product        string  // The advertised product.
	User           string  // The shopper who saw the ad. Each token has its own, so a purchase is credited to its token or to none.
	Invoke, Return Instant // Of the auction that it won.
}

// Event is one event. Several bodies may report it, always with the same id and content.
type Event struct {
	Array    Array
	ID       string
	Token    *Token // Of a purchase: the token whose user bought its product after the ad was seen. nil: the event has no token.
	Product  string // Of a purchase: what was bought.
	Pieces   int64  // Of a purchase: how many were bought or, of a return, came back.
	ReturnOf *Event // The purchase whose pieces came back; nil: the event is no return.
	Occurred string
}

// Pays reports whether the event is one for which the campaign of its token pays.
func (e *Event) Pays() bool {
	return e.Token != nil && e.Array == e.Token.Campaign.Charge && e.ReturnOf == nil
}

// Body is one request body with events. It is repeated byte for byte until it is acknowledged.
type Body struct {
	Number   int
	Events   []*Event
	Sent     Instant // When the first attempt was sent.
	Acked    Instant // When the first 200 arrived; Never: the outcome is unknown.
	Attempts int
	Unknown  int // How many attempts had an unknown outcome.
}

// Change is one attempt to set a budget.
type Change struct {
	Campaign       *Campaign
	Amount         shop.Micros
	Invoke, Return Instant
	Outcome        Outcome
}

// Payment is a deposit, or a burn when the amount is negative. All its attempts have one idempotency key and are one operation, from the
// first attempt until an answer with a known outcome.
type Payment struct {
	Vendor         *Vendor
	Amount         shop.Micros
	Invoke, Return Instant
	Outcome        Outcome
	Attempts       int
	// Doubtful says that the payment was refused, but an earlier attempt had no answer and may take effect after the refusal.
	Doubtful bool
}

// Reversal asks to give back what the purchase of a token was charged. All its attempts have one idempotency key.
type Reversal struct {
	Token          *Token
	Invoke, Return Instant
	Outcome        Outcome
	Attempts       int
	Amount         shop.Micros // What was given back, by the answer.
	// Doubtful says that the reversal was refused, but an earlier attempt had no answer and may have taken effect.
	Doubtful bool
}

// BudgetRead is a read of the budget of a campaign.
type BudgetRead struct {
	Campaign                *Campaign
	Node                    int
	Invoke, Return          Instant
	Amount, Used, Remaining shop.Micros
}

// WalletRead is a read of the balance of a wallet.
type WalletRead struct {
	Vendor         *Vendor
	Node           int
	Invoke, Return Instant
	Balance        shop.Micros
}

// ReportRead is a read of the report of a campaign.
type ReportRead struct {
	Campaign       *Campaign
	Node           int
	Invoke, Return Instant
	Numbers
}

// Auction is one auction request.
type Auction struct {
	Node           int
	Invoke, Return Instant
	Status         int // 0: there was no answer.
	Winners        int
}

// Write is one small write that was repeated on one node after the other until it was acknowledged. Its duration is how long a client
// could not write.
type Write struct {
	Invoke, Return Instant // Return is Never when the write was given up.
	GivenUp        Instant // When it was given up; 0: it was not.
	Attempts       int
}

// Fault is one injected fault. It was removed at Healed.
type Fault struct {
	Kind                   string
	Target                 string
	Nodes                  []int
	Begin, Healed, Settled Instant // Settled is when all nodes were seen ready after it.
	Alone                  bool    // No other fault overlapped it.
	Gap                    Instant // The write gap: how long the slowest small write took that began while it was in force.
	Net                    Instant // The write gap without the time in which the machine hung or other faults were in force.
}

// Span is an interval of time on one node.
type Span struct {
	Node        int
	From, Until Instant
	Why         string
}

// Stall is an interval in which the machine itself hung, measured by a probe that no injected fault affects.
type Stall struct {
	From, Until Instant
	What        string
}

// Digest is the hash of a group's state on one node at one index.
type Digest struct {
	Node   string
	Group  string
	Index  uint64
	Digest string
}

// History is all operations, faults and observations of a run. INVARIANT: the slices are appended to under mu only, and nothing is appended
// after the run.
type History struct {
	Begin   time.Time
	Vendors []*Vendor

	mu       sync.Mutex
	Bodies   []*Body
	Probed   []*Token // Won at the end of the run, when some campaigns had no money. They are not reported.
	Changes  []Change
	Payments []Payment
	Reversed []Reversal
	Budgets  []BudgetRead
	Wallets  []WalletRead
	Reports  []ReportRead
	Auctions []Auction
	Writes   []Write
	Faults   []Fault
	Isolated []Span // Nodes that exchanged no packets with any other node, or were removed.
	Down     []Span // Nodes that an injected fault ended or disturbed.
	Stalls   []Stall
	Digests  []Digest
	Findings []string // Violations that are no operations, such as a process that ended by itself.
}

// New returns an empty history that begins now.
func New() *History { return &History{Begin: time.Now()} }

// Now returns the current instant.
func (h *History) Now() Instant { return time.Since(h.Begin) }

// Campaigns returns the campaigns of all vendors.
func (h *History) Campaigns() []*Campaign {
	var all []*Campaign
	for _, v := range h.Vendors {
		all = append(all, v.Campaigns...)
	}
	return all
}

// With calls a function that appends to the history or reads it while others append.
func (h *History) With(do func(h *History)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do(h)
}

// findingsMax bounds the findings of a run. BOUND: memory; the first findings say most.
const findingsMax = 1_000

// Finding records something that must not happen.
func (h *History) Finding(text string) {
	h.With(func(h *History) {
		if len(h.Findings) < findingsMax {
			h.Findings = append(h.Findings, text)
		}
	})
}
