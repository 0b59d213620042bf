// Package history is what the clients of a run did and what they saw, to be judged when the run is over.
//
// It knows no verdicts. Every operation carries when it was invoked and when it returned; an operation whose answer never
// came, or said nothing about its effect, is Unknown and stays in the history as that.
package history

import (
	"sync"
	"time"

	"github.com/gavel-ads/gavel/loadtest/shop"
)

// Instant is a moment of the run, by the monotonic clock of the process that made the operations.
type Instant = time.Duration

// Never is the return of an operation that may take effect at any time.
const Never Instant = 1<<63 - 1

// Outcome is what a client knows about an operation.
type Outcome uint8

// Outcomes.
const (
	Unknown Outcome = iota // No answer, or one that does not say: it may have happened, it may yet happen.
	OK
	Refused // It did not happen.
)

func (o Outcome) String() string { return [...]string{"unknown", "ok", "refused"}[o] }

// MarshalText writes the word.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Array is one of the four arrays of an event report.
type Array uint8

// The arrays, in the order of the interface.
const (
	Impression Array = iota
	Click
	Purchase
	PageView
	Arrays // How many there are.
)

// Names are the members of the body.
var Names = [Arrays]string{"impressions", "clicks", "purchases", "pageviews"}

// Campaign is what a run knows of a campaign: the terms it was created with.
type Campaign struct {
	Index  int
	ID     string
	Name   string
	Vendor *Vendor `json:"-"`
	Price  shop.Micros
	Charge Array       // The array whose first event on a token is charged.
	Budget shop.Micros // At creation.
	Daily  bool        // The budget is one of each day, else of the campaign's life.
}

// Vendor is a wallet and the campaigns that live on it.
type Vendor struct {
	Index     int
	ID        string
	Deposit   shop.Micros // At creation.
	Ample     bool        // The wallet never runs out in a run.
	Campaigns []*Campaign
}

// Token is a resolvedBidId that an auction gave out.
type Token struct {
	Text     string
	Campaign *Campaign
}

// Event is one event. It is reported in as many bodies as a client likes, always with the same id and content.
type Event struct {
	Array    Array
	ID       string
	Token    *Token // Nil: without a token.
	Occurred string
}

// Body is one report of events. It is repeated byte for byte until it is acknowledged.
type Body struct {
	Number   int
	Events   []*Event
	Sent     Instant // The first attempt.
	Acked    Instant // The first 200; Never: unknown.
	Attempts int
	Unknown  int // Attempts without an outcome.
}

// Change is one attempt to set a budget.
type Change struct {
	Campaign       *Campaign
	Amount         shop.Micros
	Invoke, Return Instant
	Outcome        Outcome
}

// Payment is a deposit, or a burn when the amount is negative. All its attempts carry one idempotency key and are one
// operation, from the first attempt until an answer that decides.
type Payment struct {
	Vendor         *Vendor
	Amount         shop.Micros
	Invoke, Return Instant
	Outcome        Outcome
	Attempts       int
	// Doubtful: refused, but an attempt before was without an answer and may have happened after the refusal.
	Doubtful bool
}

// BudgetRead is a campaign as the management API told it.
type BudgetRead struct {
	Campaign                *Campaign
	Node                    int
	Invoke, Return          Instant
	Amount, Used, Remaining shop.Micros
}

// WalletRead is a balance.
type WalletRead struct {
	Vendor         *Vendor
	Node           int
	Invoke, Return Instant
	Balance        shop.Micros
}

// ReportRead is a campaign's report.
type ReportRead struct {
	Campaign       *Campaign
	Node           int
	Invoke, Return Instant
	Total, Charged [2]int64 // Of impressions and clicks.
	Spent          [2]shop.Micros
}

// Auction is one auction request.
type Auction struct {
	Node           int
	Invoke, Return Instant
	Status         int // 0: no answer.
	Winners        int
}

// Write is one small write that was repeated on node after node until it was acknowledged: how long the cluster could not
// be written, as a client sees it.
type Write struct {
	Invoke, Return Instant // Never: given up.
	GivenUp        Instant // 0: not.
	Attempts       int
}

// Fault is one fault of the run. The cluster is meant to be whole again at Healed.
type Fault struct {
	Kind                   string
	Target                 string
	Nodes                  []int
	Begin, Healed, Settled Instant // Settled: all nodes were seen ready after it.
	Alone                  bool    // No other fault overlapped it.
	Gap                    Instant // How long the slowest small write took that was begun in its time.
	Net                    Instant // The same without what the machine itself hung and other faults took.
}

// Span is a stretch of time on one node.
type Span struct {
	Node        int
	From, Until Instant
	Why         string
}

// Stall is a stretch of time in which the machine under everything hung, by a witness that no fault of ours touches.
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

// History is everything. INVARIANT: the slices are appended to under mu only; once the run is over nobody appends.
type History struct {
	Begin   time.Time
	Vendors []*Vendor

	mu       sync.Mutex
	Bodies   []*Body
	Changes  []Change
	Payments []Payment
	Budgets  []BudgetRead
	Wallets  []WalletRead
	Reports  []ReportRead
	Auctions []Auction
	Writes   []Write
	Faults   []Fault
	Isolated []Span // Nodes that nothing reached and that reached nothing.
	Down     []Span // Nodes that were not there, or were meant to fail, by a fault of ours.
	Stalls   []Stall
	Digests  []Digest
	Findings []string // What went wrong outside of any history: a process that ended by itself.
}

// New begins a history.
func New() *History { return &History{Begin: time.Now()} }

// Now is the present instant.
func (h *History) Now() Instant { return time.Since(h.Begin) }

// Campaigns are the campaigns of all vendors.
func (h *History) Campaigns() []*Campaign {
	var all []*Campaign
	for _, v := range h.Vendors {
		all = append(all, v.Campaigns...)
	}
	return all
}

// With calls a function that appends or looks at what others append.
func (h *History) With(do func(h *History)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do(h)
}

// findingsMax bounds what a broken cluster can say about itself. BOUND: memory; the first ones tell.
const findingsMax = 1_000

// Finding notes something that must not happen.
func (h *History) Finding(text string) {
	h.With(func(h *History) {
		if len(h.Findings) < findingsMax {
			h.Findings = append(h.Findings, text)
		}
	})
}
