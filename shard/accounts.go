package shard

import (
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/money"
)

// Bounds of accounts.
const (
	WalletsMax  = 3      // BOUND: wallets of a vendor, the default wallet included.
	AccountsMax = 10_000 // BOUND: ledger accounts of a marketplace in one group; memory holds all of them.
)

// accountHolder is the holder whose accounts are counted: a vendor, or, with an empty vendor, a marketplace.
type accountHolder struct {
	marketplace uint16
	vendor      string
}

// countAccount counts an account that was added. The default wallet is not counted, because every vendor has one,
// whether it is stored already or not.
func (m *Machine) countAccount(w *ledger.Wallet) {
	if !w.Default {
		m.accountCounts[accountHolder{w.Marketplace, w.VendorID}]++
	}
}

// openAccount creates a wallet or a ledger account. For the id of a vendor's default wallet it stores that wallet,
// which otherwise happens at its first deposit or campaign.
func (m *Machine) openAccount(a *command.OpenAccount) command.Result {
	if a.VendorID == "" {
		return m.openLedgerAccount(a)
	}
	if !isID(a.VendorID) || ids.ShardOf(a.Account) != ids.ShardOf(ids.AccountOf(a.Marketplace, a.VendorID)) {
		return refused(command.Invalid, 0)
	}
	if a.Account == ids.DefaultWalletOf(a.Marketplace, a.VendorID) {
		w, why := m.walletFor(a.Marketplace, a.VendorID, a.Account)
		m.repeated = m.wallets[a.Account] != nil
		if why == command.Done && !m.repeated {
			m.saveWallet(w)
		}
		return command.Result{Refusal: why}
	}
	if old := m.wallets[a.Account]; old != nil {
		if old.Marketplace != a.Marketplace || old.VendorID != a.VendorID {
			return refused(command.AlreadyExists, 0)
		}
		m.repeated = true
		return command.Result{}
	}
	return m.addAccount(a, WalletsMax-1)
}

// openLedgerAccount creates a ledger account. Its id follows from its name, so only the request id distinguishes a
// repeat, which succeeds, from a second account of the same name, which is refused as AlreadyExists.
func (m *Machine) openLedgerAccount(a *command.OpenAccount) command.Result {
	if a.Name == "" || a.Currency == "" || a.Account != ids.LedgerAccountOf(a.Marketplace, a.Name) {
		return refused(command.Invalid, 0)
	}
	if _, repeated := m.adjusts.balances[a.Request]; repeated {
		m.repeated = true
		return command.Result{}
	}
	if m.wallets[a.Account] != nil {
		return refused(command.AlreadyExists, 0)
	}
	r := m.addAccount(a, AccountsMax)
	if r.Refusal == command.Done {
		m.rememberRequest(a.Request, 0)
	}
	return r
}

func (m *Machine) addAccount(a *command.OpenAccount, limit int) command.Result {
	if m.accountCounts[accountHolder{a.Marketplace, a.VendorID}] >= limit {
		return refused(command.TooMany, 0)
	}
	m.saveWallet(&wallet{Wallet: ledger.Wallet{
		ID: a.Account, Marketplace: a.Marketplace, VendorID: a.VendorID, Name: a.Name, Currency: a.Currency,
		CreatedMillis: m.state.now,
	}})
	return command.Result{}
}

// accountOf returns a wallet or ledger account of a marketplace, or nil.
func (m *Machine) accountOf(marketplace uint16, id ids.UUID) *wallet {
	if w := m.wallets[id]; w != nil && w.Marketplace == marketplace {
		return w
	}
	return nil
}

// addEntry lists the last journal line under an account, with the other account and the description, which the line
// does not store.
func (m *Machine) addEntry(w *wallet, other ids.UUID, description string) {
	m.put(keyEntry(nil, w.ID, m.state.lastLine), appendEntry(nil, other, description))
}

func appendEntry(dst []byte, other ids.UUID, description string) []byte {
	return command.AppendText(append(dst, other[:]...), description)
}

// recordEmptied stores a reminder when a change has brought a wallet to zero or below and thereby stops its campaigns.
// before is the balance before the change. The reminder stays until ForgetEmptied, so that a node which fails while it
// stores the notice to the vendor can start again.
func (m *Machine) recordEmptied(w *wallet, before money.Micros) {
	if before <= 0 || w.Balance > 0 || w.VendorID == "" || m.tenant(w.Marketplace).postPaid {
		return
	}
	w.EmptiedCount++
	m.markWalletDirty(w)
	m.put(keyEmptied(nil, w.Marketplace, w.ID, w.EmptiedCount), command.AppendMillis(nil, m.state.now))
}

// forgetEmptied deletes a reminder. It succeeds when the reminder is already deleted, because the command may be a
// repeat.
func (m *Machine) forgetEmptied(f *command.ForgetEmptied) command.Result {
	m.put(keyEmptied(nil, f.Marketplace, f.Wallet, f.Number), nil)
	return command.Result{}
}
