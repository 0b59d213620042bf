package shardtest

import (
	"math/big"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
)

// Moved is a transfer of the model.
type Moved struct {
	command.Transfer
	Millis int64
	State  ledger.TransferState
	Since  int64
}

// Emptying identifies one reminder of an emptied wallet.
type Emptying struct {
	Wallet ids.UUID
	Number uint32
}

// Entered is a journal line that is listed under an account.
type Entered struct {
	Line        uint64
	Other       ids.UUID
	Description string
}

func newWallet(id ids.UUID, marketplace uint16, vendor string) *Wallet {
	return &Wallet{
		ID: id, Marketplace: marketplace, Vendor: vendor, Balance: new(big.Int), Deposited: new(big.Int), Spent: new(big.Int),
		Transferred: new(big.Int),
	}
}

// addEntry lists the last line under an account.
func (m *Model) addEntry(w *Wallet, other ids.UUID, description string) {
	w.Entries = append(w.Entries, Entered{uint64(len(m.Lines)), other, description})
}

// emptied adds a reminder when a prepaid wallet of a vendor had money before and has none now.
func (m *Model) emptied(w *Wallet, before *big.Int) {
	if w.Vendor != "" && !m.postPaid(w.Marketplace) && before.Sign() > 0 && w.Balance.Sign() <= 0 {
		w.Emptied++
		m.Emptied[Emptying{w.ID, w.Emptied}] = true
	}
}

// Open applies an OpenAccount.
func (m *Model) Open(a *command.OpenAccount) command.Result {
	_, asked := m.adjusts[a.Request]
	old := m.Wallets[a.Account]
	byDefault := a.Account == ids.DefaultWalletOf(a.Marketplace, a.VendorID)
	own := 0
	for _, w := range m.Wallets {
		if w.Marketplace == a.Marketplace && w.Vendor == a.VendorID && w.ID != ids.DefaultWalletOf(w.Marketplace, w.Vendor) {
			own++
		}
	}
	switch {
	case a.VendorID == "" && asked:
		return command.Result{}
	case old != nil && (a.VendorID == "" || old.Vendor != a.VendorID || old.Marketplace != a.Marketplace):
		return refuse(command.AlreadyExists, 0)
	case old != nil:
		return command.Result{}
	case a.VendorID != "" && !byDefault && own >= shard.WalletsMax-1:
		return refuse(command.TooMany, 0)
	}
	m.Wallets[a.Account] = newWallet(a.Account, a.Marketplace, a.VendorID)
	if a.VendorID == "" {
		m.adjusts[a.Request] = new(big.Int)
	}
	return command.Result{}
}

// Transfer applies a step of a transfer. Every step is recorded with what it takes from and adds to which account.
func (m *Model) Transfer(x *command.Transfer) command.Result {
	of := func(id ids.UUID) *Wallet {
		if w := m.Wallets[id]; w != nil && w.Marketplace == x.Marketplace {
			return w
		}
		return nil
	}
	from, to, t := of(x.From), of(x.To), m.Transfers[x.ID]
	ends := x.Step == command.TransferComplete || x.Step == command.TransferReturn
	if t != nil && (t.Marketplace != x.Marketplace || t.From != x.From || t.To != x.To || t.Amount != x.Amount) {
		return refuse(command.AlreadyExists, 0)
	}
	if t != nil && ends {
		return m.endTransfer(x, t, from)
	}
	if t != nil {
		if x.Step == command.TransferReceive && t.State == ledger.Refused {
			return refuse(command.TooMany, 0)
		}
		return command.Result{}
	}
	amount := big.NewInt(int64(x.Amount))
	moved := &Moved{*x, m.Now, ledger.Completed, m.Now}
	sends := x.Step == command.TransferWithin || x.Step == command.TransferSend
	switch {
	case ends, sends && from == nil:
		return refuse(command.NotFound, 0)
	case sends && from.Balance.Cmp(amount) < 0:
		return refuse(command.InsufficientBalance, 0)
	case x.Step == command.TransferWithin && to == nil:
		return refuse(command.NotFound, 1)
	case x.Step == command.TransferSend && m.Wallets[x.To] != nil:
		return refuse(command.Invalid, 1)
	case x.Step == command.TransferReceive && to == nil:
		moved.Millis, moved.State = x.Millis, ledger.Refused
		m.Transfers[x.ID] = moved
		return refuse(command.TooMany, 0)
	}
	m.Transfers[x.ID] = moved
	if sends {
		m.move(x, from, x.To, -1)
		m.emptied(from, new(big.Int).Add(from.Balance, amount))
	}
	if x.Step == command.TransferReceive {
		moved.Millis, moved.State = x.Millis, ledger.Received
		m.move(x, to, x.From, 1)
		return command.Result{Balance: micros(to.Balance)}
	}
	if x.Step == command.TransferSend {
		moved.State = ledger.InTransit
	} else {
		m.move(x, to, x.From, 1)
	}
	return command.Result{Balance: micros(from.Balance)}
}

func (m *Model) endTransfer(x *command.Transfer, t *Moved, from *Wallet) command.Result {
	after := ledger.Completed
	if x.Step == command.TransferReturn {
		after = ledger.Returned
	}
	if t.State == after {
		return command.Result{}
	}
	if t.State != ledger.InTransit {
		return refuse(command.WrongState, 0)
	}
	t.State, t.Since = after, m.Now
	if after == ledger.Returned {
		m.move(&t.Transfer, from, x.To, 1)
	}
	return command.Result{Balance: micros(from.Balance)}
}

// move adds the amount of a transfer to an account, or subtracts it when sign is -1.
func (m *Model) move(x *command.Transfer, w *Wallet, other ids.UUID, sign int64) {
	amount := new(big.Int).Mul(big.NewInt(sign), big.NewInt(int64(x.Amount)))
	w.Balance.Add(w.Balance, amount)
	w.Transferred.Add(w.Transferred, amount)
	m.Lines = append(m.Lines, Line{Key: x.ID, Amount: amount})
	m.addEntry(w, other, x.Description)
}

// Forget applies a ForgetEmptied.
func (m *Model) Forget(f *command.ForgetEmptied) command.Result {
	if w := m.Wallets[f.Wallet]; w != nil && w.Marketplace == f.Marketplace {
		delete(m.Emptied, Emptying{f.Wallet, f.Number})
	}
	return command.Result{}
}

// compareAccounts compares the entries of accounts, the transfers, the amounts in transit and the reminders.
func (m *Model) compareAccounts(b shard.Queries, fail func(string, ...any)) {
	balances, deposited, spent, inTransit := new(big.Int), new(big.Int), new(big.Int), new(big.Int)
	for id, w := range m.Wallets {
		balances.Add(balances, w.Balance)
		deposited.Add(deposited, w.Deposited)
		spent.Add(spent, w.Spent)
		got, more := b.Entries(id, 0, shard.Span{}, len(w.Entries)+1)
		if more || len(got) != len(w.Entries) {
			fail("account %s has %d entries, not %d", id, len(got), len(w.Entries))
			continue
		}
		for i, e := range got {
			want := w.Entries[len(got)-1-i]
			if e.Seq != want.Line || e.Other != want.Other || e.Description != want.Description || e.Wallet != id || !same(e.Amount, m.Lines[e.Seq-1].Amount) {
				fail("entry of %s is %+v, not %+v", id, e, want)
			}
		}
	}
	listed := 0
	for id, t := range m.Transfers {
		got, _ := b.Transfer(id)
		want := ledger.Transfer{
			ID: id, Marketplace: t.Marketplace, From: t.From, To: t.To, Amount: t.Amount, Millis: t.Millis, State: t.State, Since: t.Since, Description: t.Description,
		}
		if got != want {
			fail("transfer is %+v, not %+v", got, want)
		}
		switch t.State {
		case ledger.Received:
			inTransit.Sub(inTransit, big.NewInt(int64(t.Amount)))
		case ledger.InTransit:
			inTransit.Add(inTransit, big.NewInt(int64(t.Amount)))
			listed++
		case ledger.Completed:
			if t.Step == command.TransferSend {
				inTransit.Add(inTransit, big.NewInt(int64(t.Amount)))
			}
			listed++
		case ledger.Returned:
			listed++
		case ledger.Refused:
		}
	}
	if sum := new(big.Int).Sub(deposited, spent); sum.Cmp(balances.Add(balances, inTransit)) != 0 {
		fail("%s deposited less %s spent is not %s in balances and in transit", deposited, spent, balances)
	}
	m.compareLists(b, listed, fail)
}

func (m *Model) compareLists(b shard.Queries, listed int, fail func(string, ...any)) {
	var transfers, transit, emptied int
	for marketplace := uint16(1); marketplace <= 2; marketplace++ {
		var last *ledger.Transfer
		for more := true; more; {
			var all []ledger.Transfer
			all, more = b.Transfers(marketplace, last, shard.Span{}, 2)
			for i := range all {
				if last != nil && all[i].Millis > last.Millis || all[i].Marketplace != marketplace {
					fail("transfers are listed out of order: %+v", all[i])
				}
				last = &all[i]
				transfers++
			}
		}
		for _, t := range b.InTransit(marketplace, len(m.Transfers)+1) {
			if m.Transfers[t.ID].State != ledger.InTransit {
				fail("transfer %s is not under way", t.ID)
			}
			transit++
		}
		for _, e := range b.Emptied(marketplace, len(m.Emptied)+1) {
			if !m.Emptied[Emptying{e.Wallet.ID, e.Number}] {
				fail("wallet %s was not emptied for the time %d", e.Wallet.ID, e.Number)
			}
			emptied++
		}
	}
	want := 0
	for _, t := range m.Transfers {
		if t.State == ledger.InTransit {
			want++
		}
	}
	if transfers != listed || transit != want || emptied != len(m.Emptied) {
		fail("%d transfers are listed, %d under way, %d emptyings; not %d, %d and %d", transfers, transit, emptied, listed, want, len(m.Emptied))
	}
}
