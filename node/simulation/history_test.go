package simulation_test

import (
	"fmt"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/money"
)

// history contains what the clients of one data group attempted, what was answered, and what they read. It uses the commands
// and nothing of the state machine; it computes all sums itself.
//
// A command whose outcome is unknown is repeated with the same bytes until there is an answer. Every repetition, also one that
// the cluster makes itself, may be applied, so an answer may be that of a second application: an event is then a duplicate,
// and only the journal shows what its token was charged. Management commands are applied once.
type history struct {
	t         *failureReporter
	group     uint16
	vendors   [vendors]string // The names of the vendors.
	transfers *transferHistory
	mu        sync.Mutex

	tokens    map[[16]byte]*token // The issued tokens by charge key.
	issued    []*token            // The issued tokens in the order of issue.
	events    map[[16]byte]*sent
	deposits  map[ids.UUID]*deposit
	campaigns []*campaign
	seen      []ledger.Line // The longest journal that was read.
	digests   map[uint64]uint64
	heights   []height // Oldest first, no more than checkFreshness needs.
	compared  int      // How many pairs of digests were compared.

	acked, unknown, reads, fresher int
}

// token is a token that an auction issued.
type token struct {
	charge         [16]byte
	campaign       *campaign
	bid            uint32
	kind           event.Kind
	price          money.Micros
	bucket         uint32
	decided        *command.EventResult // The answer that said what was charged.
	alreadyCharged bool                 // An answer said that it was charged before.
}

// sent is one event id.
type sent struct {
	record  command.EventRecord
	token   *token
	sure    bool // An answer said that it was recorded, now or before.
	counted bool // An answer said that it was new.
}

type deposit struct {
	vendor  int
	amount  money.Micros
	done    bool
	refused bool
}

// campaign is a campaign as its manager knows it. Only the manager changes it.
type campaign struct {
	id         ids.UUID
	ordinal    uint32
	vendor     int
	total      bool // The budget is total; otherwise daily.
	budgets    []budget
	bids       map[ids.UUID]bool // Acknowledged.
	terminated bool

	acked money.Micros // The sum of charges in answers.
	read  money.Micros // The largest spent amount that was read.
	count int64        // The number of clicks and impressions that were answered as new.
}

// budget is an amount with the range of journal lines at which it may have been in force.
type budget struct {
	amount   money.Micros
	after    int       // The number of lines before it was asked for.
	replaced time.Time // When the next budget was acknowledged.
	until    int       // The number of lines at which it was surely replaced; 0 if not known yet.
}

func newHistory(t *failureReporter, topology ids.Topology, group ids.Group, transfers *transferHistory) *history {
	h := &history{
		t: t, group: uint16(group), transfers: transfers, tokens: map[[16]byte]*token{}, events: map[[16]byte]*sent{}, deposits: map[ids.UUID]*deposit{},
		digests: map[uint64]uint64{},
	}
	for n, v := 0, 0; v < vendors; n++ { // A vendor's id determines its shard, and so its group.
		h.vendors[v] = fmt.Sprint("vendor ", n)
		if topology.GroupOf(ids.ShardOf(ids.AccountOf(marketplace, h.vendors[v]))) == group {
			v++
		}
	}
	return h
}

// wallet returns the wallet that pays for the campaigns of a vendor.
func (h *history) wallet(vendor int) ids.UUID {
	return ids.DefaultWalletOf(marketplace, h.vendors[vendor])
}

// groupOf returns the history of a data group, or nil for the meta group.
func (w *environment) groupOf(id uint16) *history {
	for _, h := range w.groups {
		if h.group == id {
			return h
		}
	}
	return nil
}

// issue stores a new token.
func (h *history) issue(k *token) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tokens[k.charge] = k
	h.issued = append(h.issued, k)
}

// attempt stores events before they are sent for the first time.
func (h *history) attempt(records []command.EventRecord) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range records {
		r := &records[i]
		if h.events[r.Key] == nil {
			h.events[r.Key] = &sent{record: *r, token: h.tokens[r.ChargeKey]}
		}
	}
}

// answered compares the answers to events with earlier ones: an event is new once, and a token is charged once.
func (h *history) answered(records []command.EventRecord, results []command.EventResult) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acked += len(records)
	for i := range records {
		s, r := h.events[records[i].Key], results[i]
		switch r.Outcome {
		case command.TooOld:
			continue
		case command.Duplicate:
			s.sure = true
			continue
		default:
		}
		if s.counted {
			h.t.Errorf("event %x was new twice, now %s", records[i].Key[:4], r.Outcome)
		}
		s.sure, s.counted = true, true
		if k := s.token; k != nil && r.Outcome != command.UnknownBid {
			k.campaign.count++
		}
		h.decide(s.token, r)
	}
}

func (h *history) decide(k *token, r command.EventResult) {
	switch r.Outcome {
	case command.Charged, command.Clipped, command.NothingLeft:
	case command.AlreadyCharged:
		k.alreadyCharged = true
		return
	default:
		return
	}
	if k == nil {
		h.t.Errorf("an event without a token was charged %d", r.Charged)
		return
	}
	if k.decided != nil {
		h.t.Errorf("token %x was decided twice: %+v and %+v", k.charge[:4], *k.decided, r)
	}
	if r.Charged < 0 || r.Charged+r.Clipped != k.price {
		h.t.Errorf("token %x of price %d: charged %d, clipped %d", k.charge[:4], k.price, r.Charged, r.Clipped)
	}
	k.decided = &r
	k.campaign.acked += r.Charged
}

// digest stores the digest of a node's state at an index. Two nodes at the same index must have the same digest.
func (h *history) digest(node int, index, digest uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if before, known := h.digests[index]; known {
		h.compared++
		if before != digest {
			h.t.Errorf("node %d has digest %016x at entry %d, another had %016x", node, digest, index, before)
		}
		return
	}
	h.digests[index] = digest
}

func (h *history) note(unknown bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if unknown {
		h.unknown++
	} else {
		h.acked++
	}
}
