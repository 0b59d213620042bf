package simulation_test

import (
	"sync"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/money"
)

// transferHistory contains the money transfers of all data groups that were asked for, and their answers. A transfer from one
// group to another is received there or returned. It happens once, and it ends without further requests.
//
// LOCKS: mu is locked after the mu of a history.
type transferHistory struct {
	t      *failureReporter
	closed chan struct{} // Closed when no further transfers are asked for.

	mu    sync.Mutex
	all   map[ids.UUID]*movement
	sides map[ids.UUID]sides // The lines of the node that is being checked.
}

// account is a wallet or a ledger account, or the id of an account that was never opened.
type account struct {
	group       uint16
	id          ids.UUID
	neverOpened bool // The account was never opened.
}

// movement is a transfer that was asked for.
type movement struct {
	from, to account
	amount   money.Micros
	taken    bool                 // An answer said that the payer has paid.
	refused  bool                 // An answer said that the transfer is refused, so no money moves.
	decided  ledger.TransferState // The answer of the receiving group: Received or Refused.
}

// sides counts the lines of a transfer in the journals of one node.
type sides struct{ paid, got, sent, received, returned int }

func newTransferHistory(t *failureReporter) *transferHistory {
	return &transferHistory{t: t, closed: make(chan struct{}), all: map[ids.UUID]*movement{}, sides: map[ids.UUID]sides{}}
}

// ask stores a transfer before it is sent for the first time.
func (b *transferHistory) ask(id ids.UUID, m *movement) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all[id] = m
}

// find returns a transfer. It reports a failure and returns nil if nobody asked for it.
func (b *transferHistory) find(id ids.UUID) *movement {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.all[id]
	if m == nil {
		b.t.Errorf("transfer %s is in transit, and nobody asked for it", id)
	}
	return m
}

// decide stores the answer of the receiving group, which must always be the same.
func (b *transferHistory) decide(id ids.UUID, m *movement, state ledger.TransferState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.decided != 0 && m.decided != state {
		b.t.Errorf("transfer %s: the other group answered %d and then %d", id, m.decided, state)
	}
	m.decided = state
}

func isMove(kind ledger.LineKind) bool {
	switch kind {
	case ledger.TransferLeg, ledger.TransferSent, ledger.TransferReceived, ledger.TransferReturned:
		return true
	default:
		return false
	}
}

// recordLine counts a line of a transfer in the journal of a group. The line must be one of the transfer's sides.
func (b *transferHistory) recordLine(node int, group uint16, l *ledger.Line) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.all[l.Key]
	if m == nil {
		b.t.Errorf("node %d, group %d: nobody asked for %+v", node, group, l)
		return
	}
	s := b.sides[l.Key]
	paid := l.Amount == -m.amount && l.Wallet == m.from.id && group == m.from.group
	back := l.Amount == m.amount && l.Wallet == m.from.id && group == m.from.group
	got := l.Amount == m.amount && l.Wallet == m.to.id && group == m.to.group
	switch {
	case l.Kind == ledger.TransferLeg && paid:
		s.paid++
	case l.Kind == ledger.TransferLeg && got:
		s.got++
	case l.Kind == ledger.TransferSent && paid:
		s.sent++
	case l.Kind == ledger.TransferReceived && got:
		s.received++
	case l.Kind == ledger.TransferReturned && back:
		s.returned++
	default:
		b.t.Errorf("node %d, group %d: %+v is not a side of %+v", node, group, l, m)
	}
	b.sides[l.Key] = s
}

// checkNode compares the lines of all transfers at a node with what was asked for and answered. REQUIRES: no transfer is in
// transit.
func (b *transferHistory) checkNode(node int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, m := range b.all {
		s, within := b.sides[id], m.from.group == m.to.group
		arrived, returned := s == sides{sent: 1, received: 1}, s == sides{sent: 1, returned: 1}
		moved := within && s == sides{paid: 1, got: 1} || !within && (arrived || returned)
		switch {
		case s != sides{} && !moved:
			b.t.Errorf("node %d: transfer %s ended with %+v of %+v", node, id, s, m)
		case m.taken && !moved:
			b.t.Errorf("node %d: LOST: transfer %s of %+v was acknowledged", node, id, m)
		case m.refused && moved:
			b.t.Errorf("node %d: transfer %s of %+v was refused, and has %+v", node, id, m, s)
		case m.to.neverOpened && s.got+s.received > 0:
			b.t.Errorf("node %d: transfer %s of %+v arrived at an account that was never opened", node, id, m)
		case m.decided == ledger.Received && !arrived, m.decided == ledger.Refused && !returned:
			b.t.Errorf("node %d: transfer %s: the other group answered %d, the lines are %+v", node, id, m.decided, s)
		}
	}
	clear(b.sides)
}

// counts returns how many transfers moved money, how many of these between groups, and how many of those were returned.
func (b *transferHistory) counts() (taken, crossed, returned int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.all {
		if m.taken {
			taken++
			if m.from.group != m.to.group {
				crossed++
			}
			if m.decided == ledger.Refused {
				returned++
			}
		}
	}
	return taken, crossed, returned
}
