package shard

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/money"
)

// transfer applies one step of a transfer.
//
// INVARIANT: the amount that one step takes from an account is added once, by this or a later step, to another account
// or back to the same one. The record of a transfer is kept for ever, so that a repeated step finds it, however late it
// comes. Between two groups the receiving group decides: its first answer is final, and the sender's group records it.
func (m *Machine) transfer(x *command.Transfer) command.Result {
	stored, found := m.get(keyTransfer(nil, x.ID))
	if !found {
		return m.firstStep(x)
	}
	t := must(readTransfer(x.ID, stored))
	if !t.Same(x.Marketplace, x.From, x.To, x.Amount) {
		return refused(command.AlreadyExists, 0)
	}
	if x.Step == command.TransferComplete || x.Step == command.TransferReturn {
		return m.endTransfer(x, &t)
	}
	if x.Step == command.TransferReceive && t.State == ledger.Refused {
		return refused(command.TooMany, 0)
	}
	m.repeated = true
	return command.Result{}
}

// firstStep applies the first step of a transfer that this group sees.
func (m *Machine) firstStep(x *command.Transfer) command.Result {
	t := ledger.Transfer{
		ID: x.ID, Marketplace: x.Marketplace, From: x.From, To: x.To, Amount: x.Amount, Millis: m.state.now,
		Description: x.Description,
	}
	switch x.Step {
	case command.TransferWithin:
		return m.moveWithin(&t)
	case command.TransferSend:
		return m.send(&t)
	case command.TransferReceive:
		t.Millis = x.Millis
		return m.receive(&t)
	default:
		return refused(command.NotFound, 0)
	}
}

// moveWithin moves money between two accounts of the group.
func (m *Machine) moveWithin(t *ledger.Transfer) command.Result {
	from, why := m.payer(t)
	if why != command.Done {
		return refused(why, 0)
	}
	to := m.accountOf(t.Marketplace, t.To)
	if to == nil {
		return refused(command.NotFound, 1)
	}
	if !from.Move(-t.Amount) {
		return refused(command.TooMany, 0)
	}
	if !to.Move(t.Amount) {
		from.Move(t.Amount)
		return refused(command.TooMany, 1)
	}
	t.State = ledger.Completed
	m.storeTransfer(t)
	m.put(keyNewTransfer(nil, t.Marketplace, t.Millis, t.ID), []byte{})
	m.writeLeg(t, from, t.To, ledger.TransferLeg, -t.Amount)
	m.writeLeg(t, to, t.From, ledger.TransferLeg, t.Amount)
	m.recordEmptied(from, from.Balance+t.Amount)
	return command.Result{Balance: from.Balance}
}

// send takes the money of a transfer to another group from the paying account.
func (m *Machine) send(t *ledger.Transfer) command.Result {
	from, why := m.payer(t)
	switch {
	case why != command.Done:
		return refused(why, 0)
	case m.wallets[t.To] != nil:
		return refused(command.Invalid, 1)
	case !from.Move(-t.Amount):
		return refused(command.TooMany, 0)
	}
	t.State = ledger.InTransit
	m.storeTransfer(t)
	m.put(keyNewTransfer(nil, t.Marketplace, t.Millis, t.ID), []byte{})
	m.put(keyTransit(nil, t.Marketplace, t.ID), []byte{})
	m.writeLeg(t, from, t.To, ledger.TransferSent, -t.Amount)
	m.recordEmptied(from, from.Balance+t.Amount)
	return command.Result{Balance: from.Balance}
}

// payer returns the account that pays a transfer; it refuses with InsufficientBalance when the balance is below the
// amount. That also applies in billing mode post: credit can be spent on campaigns only, not on transfers.
func (m *Machine) payer(t *ledger.Transfer) (*wallet, command.Refusal) {
	from := m.accountOf(t.Marketplace, t.From)
	switch {
	case from == nil:
		return nil, command.NotFound
	case from.Balance < t.Amount:
		return nil, command.InsufficientBalance
	}
	return from, command.Done
}

// receive adds the money of a transfer from another group, or records that the transfer is refused.
func (m *Machine) receive(t *ledger.Transfer) command.Result {
	to := m.accountOf(t.Marketplace, t.To)
	if to == nil || !to.Move(t.Amount) {
		t.State = ledger.Refused
		m.storeTransfer(t)
		return refused(command.TooMany, 0)
	}
	t.State = ledger.Received
	m.storeTransfer(t)
	m.writeLeg(t, to, t.From, ledger.TransferReceived, t.Amount)
	return command.Result{Balance: to.Balance}
}

// endTransfer records in the sender's group what the receiving group has decided. TransferReturn gives the money back.
func (m *Machine) endTransfer(x *command.Transfer, t *ledger.Transfer) command.Result {
	after := ledger.Completed
	if x.Step == command.TransferReturn {
		after = ledger.Returned
	}
	switch t.State {
	case after:
		m.repeated = true
		return command.Result{}
	case ledger.InTransit:
	default:
		return refused(command.WrongState, 0)
	}
	from := m.accountOf(t.Marketplace, t.From)
	if after == ledger.Returned {
		if !from.Move(t.Amount) {
			return refused(command.TooMany, 0)
		}
		m.writeLeg(t, from, t.To, ledger.TransferReturned, t.Amount)
	}
	t.State = after
	m.storeTransfer(t)
	m.put(keyTransit(nil, t.Marketplace, t.ID), nil)
	return command.Result{Balance: from.Balance}
}

// writeLeg writes one side of a transfer into the journal and lists it under its account.
func (m *Machine) writeLeg(t *ledger.Transfer, w *wallet, other ids.UUID, kind ledger.LineKind, amount money.Micros) {
	m.markWalletDirty(w)
	m.journal(ledger.Line{Kind: kind, Key: t.ID, Wallet: w.ID, Price: t.Amount, Amount: amount})
	m.addEntry(w, other, t.Description)
}

func (m *Machine) storeTransfer(t *ledger.Transfer) {
	t.Since = m.state.now
	m.put(keyTransfer(nil, t.ID), appendTransfer(nil, t))
}

// appendTransfer leaves the id out, because it is the key.
func appendTransfer(dst []byte, t *ledger.Transfer) []byte {
	dst = append(binary.LittleEndian.AppendUint16(dst, t.Marketplace), t.From[:]...)
	dst = command.AppendMoney(append(dst, t.To[:]...), t.Amount)
	dst = append(command.AppendMillis(dst, t.Millis), byte(t.State))
	dst = command.AppendMillis(dst, t.Since)
	return command.AppendText(dst, t.Description)
}

func readTransfer(id ids.UUID, b []byte) (ledger.Transfer, error) {
	d := command.NewDecoder(b)
	t := ledger.Transfer{
		ID: id, Marketplace: d.U16(), From: d.UUID(), To: d.UUID(), Amount: d.Price(), Millis: d.I64(),
		State: ledger.TransferState(d.Enum(uint8(ledger.TransferStates))), Since: d.I64(), Description: d.Text(),
	}
	return t, d.Err()
}
