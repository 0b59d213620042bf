package shard

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/money"
)

// adjusts remembers wallet adjustments and the opening of accounts by their request ids: those of the last 24 hours
// and at least the newest event.RequestsKept. They are dropped in whole hours.
type adjusts struct {
	balances map[ids.UUID]money.Micros
	hours    map[uint32]*adjustHour
}

type adjustHour struct {
	requests []ids.UUID
	xor      uint64 // Xor of the hashes of the records.
}

func newAdjusts() adjusts {
	return adjusts{balances: make(map[ids.UUID]money.Micros), hours: make(map[uint32]*adjustHour)}
}

func (a *adjusts) remember(hour uint32, request ids.UUID, balance money.Micros, hash uint64) {
	h := a.hours[hour]
	if h == nil {
		h = new(adjustHour)
		a.hours[hour] = h
	}
	h.requests = append(h.requests, request)
	h.xor ^= hash
	a.balances[request] = balance
}

func (m *Machine) purgeAdjusts() {
	horizon := event.BucketOf(m.state.now - event.RequestMillis)
	for _, hour := range slices.Sorted(maps.Keys(m.adjusts.hours)) {
		h := m.adjusts.hours[hour]
		if hour >= horizon || len(m.adjusts.balances)-len(h.requests) < event.RequestsKept {
			return
		}
		m.digest ^= h.xor
		m.written = true
		m.b.DeleteRange(appendU32([]byte{tableAdjust}, hour), appendU32([]byte{tableAdjust}, hour+1))
		for _, request := range h.requests {
			delete(m.adjusts.balances, request)
		}
		delete(m.adjusts.hours, hour)
	}
}

// adjustWallet adds an amount to a wallet, once per request id.
func (m *Machine) adjustWallet(a *command.AdjustWallet) command.Result {
	if balance, repeated := m.adjusts.balances[a.Request]; repeated {
		m.repeated = true
		return command.Result{Balance: balance}
	}
	if !isID(a.VendorID) {
		return refused(command.Invalid, 0)
	}
	w, why := m.walletFor(a.Marketplace, a.VendorID, a.Wallet)
	if why != command.Done {
		return refused(why, 0)
	}
	if len(a.Others) > 0 {
		return m.withdraw(a, w)
	}
	if a.Strict && a.Amount < 0 && w.Balance+a.Amount < 0 {
		return refused(command.InsufficientBalance, 0)
	}
	if !m.adjust(a, w, a.Amount) {
		return refused(command.TooMany, 0)
	}
	m.rememberRequest(a.Request, w.Balance)
	return command.Result{Balance: w.Balance}
}

// adjust adds an amount to a wallet and to the journal. It returns false when the balance would be larger than any may
// be.
func (m *Machine) adjust(a *command.AdjustWallet, w *wallet, amount money.Micros) bool {
	before := w.Balance
	if !w.Adjust(amount) {
		return false
	}
	m.saveWallet(w)
	m.journal(ledger.Line{Kind: ledger.Adjustment, Key: a.Request, Wallet: w.ID, Price: amount, Amount: amount})
	m.addEntry(w, ids.UUID{}, a.Description)
	m.recordEmptied(w, before)
	return true
}

// withdraw takes an amount from a wallet and, as far as that has not enough, from others of the vendor: all of it or
// nothing. Each wallet that gives something has a line in the journal.
func (m *Machine) withdraw(a *command.AdjustWallet, first *wallet) command.Result {
	from, missing := []*wallet{first}, -a.Amount-max(0, first.Balance)
	for i, id := range a.Others {
		w := m.wallets[id]
		switch {
		case w == nil || w.Marketplace != a.Marketplace || w.VendorID != a.VendorID:
			return refused(command.NotFound, i)
		case slices.Contains(from, w):
			return refused(command.Invalid, i)
		}
		from = append(from, w)
		missing -= max(0, w.Balance)
	}
	if missing > 0 {
		return refused(command.InsufficientBalance, 0)
	}
	left := -a.Amount
	for _, w := range from {
		if take := min(left, w.Balance); take > 0 {
			m.adjust(a, w, -take)
			left -= take
		}
	}
	m.rememberRequest(a.Request, first.Balance)
	return command.Result{Balance: first.Balance}
}

// rememberRequest stores the id of a request and the balance in its answer.
func (m *Machine) rememberRequest(request ids.UUID, balance money.Micros) {
	hour := event.BucketOf(m.state.now)
	hash := m.add(keyAdjust(nil, hour, request), binary.LittleEndian.AppendUint64(nil, uint64(balance))) // Two's complement both ways.
	m.adjusts.remember(hour, request, balance, hash)
}

// walletFor returns the wallet that a command names: an existing wallet of the vendor, or the default wallet, which is
// created if needed and stored only by saveWallet. The zero id means the default wallet.
func (m *Machine) walletFor(marketplace uint16, vendor string, id ids.UUID) (*wallet, command.Refusal) {
	if w := m.wallets[id]; w != nil {
		if w.Marketplace != marketplace || w.VendorID != vendor {
			return nil, command.NotFound
		}
		return w, command.Done
	}
	byDefault := ids.DefaultWalletOf(marketplace, vendor)
	if !id.IsZero() && id != byDefault {
		return nil, command.NotFound
	}
	if w := m.wallets[byDefault]; w != nil {
		return w, command.Done
	}
	return &wallet{Wallet: ledger.Wallet{
		ID: byDefault, Marketplace: marketplace, VendorID: vendor, Name: "default", Default: true,
		CreatedMillis: m.state.now,
	}}, command.Done
}

// saveWallet marks a wallet as changed, and adds it to memory when it is new.
func (m *Machine) saveWallet(w *wallet) {
	if m.wallets[w.ID] == nil {
		m.wallets[w.ID] = w
		m.countAccount(&w.Wallet)
		if w.VendorID != "" {
			key := keyOfVendor(nil, tableVendorWallet, w.Marketplace, w.VendorID)
			m.put(append(key, w.ID[:]...), []byte{})
		}
	}
	m.markWalletDirty(w)
}
