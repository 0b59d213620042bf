package fsck

import (
	"fmt"
	"math/big"
)

// States of a stored transfer. The sender's group uses the first three, the receiver's group the last two; a transfer
// within a group is completed.
const (
	transferCompleted = iota + 1
	transferInTransit
	transferReturned
	transferReceived
	transferRefused
)

// transfer is what a group stores about a transfer: the amounts of its lines, and its record.
type transfer struct {
	moves  moves
	record storedTransfer
	stored bool
}

// moves are the signed amounts of a transfer's lines.
type moves struct {
	paid, got                int64 // Within one group.
	sent, received, returned int64
}

type storedTransfer struct {
	marketplace   uint16
	from, to      [16]byte
	amount        int64
	millis, since int64
	state         uint8
}

func readStoredTransfer(b []byte) (t storedTransfer, ok bool) {
	r := reader{rest: b}
	t.marketplace = r.u16()
	t.from, t.to, t.amount, t.millis = r.id(), r.id(), r.i64(), r.i64()
	t.state, t.since = r.u8(), r.i64()
	r.text() // Description.
	return t, r.ended()
}

func (b *groupCheck) transfer(id [16]byte) *transfer {
	t := b.transfers[id]
	if t == nil {
		t = &transfer{}
		b.transfers[id] = t
	}
	return t
}

func (b *groupCheck) addTransfer(id [16]byte, value []byte) (ok bool) {
	t := b.transfer(id)
	t.stored = true
	t.record, ok = readStoredTransfer(value)
	return ok
}

// checkEntry checks that a line that is listed under an account is a line of that account.
func (b *groupCheck) checkEntry(account [16]byte, line uint64) {
	if of, found := b.entryAccounts[line]; !found || of != account {
		b.problem("account "+uuid(account), "lists line %d, which is not a line of the account", line)
	}
}

// closeLeg reports whether a line is the other leg of the line before it. The two legs of a transfer must be
// consecutive lines.
func (b *groupCheck) closeLeg(l *line) bool {
	h := b.openLeg
	b.openLeg = nil
	if h == nil {
		return false
	}
	if l != nil && l.kind == lineLeg && l.key == h.key && l.amount == -h.amount && l.wallet != h.wallet {
		return true
	}
	b.problem(fmt.Sprintf("line %d", h.seq), "UNBALANCED TRANSFER: the leg of %d of transfer %s has no other leg", h.amount, uuid(h.key))
	return false
}

// followTransfer checks one side of a transfer.
func (b *groupCheck) followTransfer(place string, l *line) {
	w := b.wallets[l.wallet]
	if w == nil {
		b.problem(place, "transfers money of account %s, which does not exist", uuid(l.wallet))
		return
	}
	m := &b.transfer(l.key).moves
	side, sign := m.side(l)
	switch {
	case *side != 0:
		b.problem(place, "DOUBLE TRANSFER: %s occurs a second time", uuid(l.key))
	case l.price <= 0 || l.amount != sign*l.price:
		b.problem(place, "transfers %d instead of %d", l.amount, l.price)
	case l.kind == lineReturned && m.sent == 0:
		b.problem(place, "returns %s, which was not sent", uuid(l.key))
	}
	*side = l.amount
	amount := big.NewInt(l.amount)
	w.transferred.Add(w.transferred, amount)
	w.balance.Add(w.balance, amount)
	if l.amount < 0 && w.balance.Sign() < 0 {
		b.problem(place, "OVERDRAFT: the transfer brings account %s to %s", uuid(l.wallet), w.balance)
	}
}

// side returns the amount that a line changes, and its sign.
func (m *moves) side(l *line) (side *int64, sign int64) {
	switch {
	case l.kind == lineSent:
		return &m.sent, -1
	case l.kind == lineReceived:
		return &m.received, 1
	case l.kind == lineReturned:
		return &m.returned, 1
	case l.amount < 0:
		return &m.paid, -1
	default:
		return &m.got, 1
	}
}

// compareTransfers compares the records of transfers with their lines.
func (b *groupCheck) compareTransfers() {
	b.closeLeg(nil)
	for id, t := range b.transfers {
		place := "transfer " + uuid(id)
		if !t.stored {
			b.problem(place, "has lines and no record")
			continue
		}
		b.g.Transfers++
		x := &t.record
		want, known := x.moves(t.moves.sent != 0)
		switch {
		case !known:
			b.problem(place, "is in the unknown state %d", x.state)
			continue
		case t.moves != want || x.amount <= 0:
			b.problem(place, "its lines moved %+v, its record of state %d says %+v", t.moves, x.state, want)
		}
		if t.moves.sent != 0 || x.state >= transferReceived {
			b.addCrossGroup(id, t)
		}
	}
}

// moves returns the lines that a transfer in this state must have; sent says whether it left the group.
func (x *storedTransfer) moves(sent bool) (want moves, known bool) {
	switch x.state {
	case transferCompleted:
		if !sent {
			return moves{paid: -x.amount, got: x.amount}, true
		}
		return moves{sent: -x.amount}, true
	case transferInTransit:
		return moves{sent: -x.amount}, true
	case transferReturned:
		return moves{sent: -x.amount, returned: x.amount}, true
	case transferReceived:
		return moves{received: x.amount}, true
	case transferRefused:
		return moves{}, true
	}
	return moves{}, false
}

// crossGroupTransfer is a transfer between two groups, as both store it.
type crossGroupTransfer struct {
	sender, receiver *transfer
	from, to         uint16
}

func (b *groupCheck) addCrossGroup(id [16]byte, t *transfer) {
	c := b.r.crossGroup[id]
	if c == nil {
		c = &crossGroupTransfer{}
		b.r.crossGroup[id] = c
	}
	if t.record.state >= transferReceived {
		c.receiver, c.to = t, b.g.Group
	} else {
		c.sender, c.from = t, b.g.Group
	}
}

// skewMillis is how far the clocks of two groups may differ. A group must contain everything that happened longer
// before its clock.
const skewMillis = 1_000

// compareCrossGroup compares the journals of the groups with each other: what one group sent was received, returned, or
// is in transit. The groups of a node stop at different times, so a group may not contain its side yet; the clocks of
// the groups say whether it must.
func (r *Report) compareCrossGroup() {
	var clock int64 // Clock of the group that is furthest behind.
	for i := range r.Groups {
		if g := &r.Groups[i]; g.Group != 0 && (clock == 0 || g.Clock < clock) {
			clock = g.Clock
		}
	}
	for id, c := range r.crossGroup {
		place := "transfer " + uuid(id)
		switch {
		case c.sender != nil && c.receiver != nil:
			r.compareSides(place, c)
		case c.sender == nil && clock > c.receiver.record.millis+skewMillis:
			r.problem(place, "CREDIT WITHOUT DEBIT: group %d received %d that no group sent", c.to, c.receiver.record.amount)
		case c.sender == nil:
			r.note("%s: group %d received it; the sender's group has not applied its side yet", place, c.to)
		case c.sender.record.state != transferInTransit && clock > c.sender.record.since+skewMillis:
			r.problem(place, "DEBIT WITHOUT CREDIT: group %d sent %d that no group has answered", c.from, c.sender.record.amount)
		default:
			r.transit(c.sender)
		}
	}
}

func (r *Report) compareSides(place string, c *crossGroupTransfer) {
	s, t := &c.sender.record, &c.receiver.record
	if s.marketplace != t.marketplace || s.from != t.from || s.to != t.to || s.amount != t.amount || s.millis != t.millis {
		r.problem(place, "groups %d and %d store different accounts, amounts or times for it", c.from, c.to)
	}
	switch {
	case s.state == transferInTransit && t.state == transferRefused:
		r.transit(c.sender)
	case s.state == transferInTransit: // It was received, and the sender's group has not recorded that yet.
	case (s.state == transferCompleted) != (t.state == transferReceived):
		r.problem(place, "is in state %d in group %d and in state %d in group %d", s.state, c.from, t.state, c.to)
	}
}

func (r *Report) transit(t *transfer) {
	r.InTransit++
	r.InTransitMicros += t.record.amount
}
