package store

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/money"
)

// A wallet and a ledger account are both accounts: a transfer goes from any account to any other. A wallet is named by its id, a ledger
// account by the name that it was created with. The group of either follows from its id, so any node finds it.

// OpenWallet creates a further wallet of a vendor. ErrTooMany means that the vendor has as many as it may have.
func (t Tenant) OpenWallet(ctx context.Context, vendorID, name string) (ledger.Wallet, error) {
	id := t.mint(ctx, ids.ShardOf(ids.AccountOf(t.marketplace, vendorID)))
	return t.open(ctx, &command.OpenAccount{Request: id, Account: id, VendorID: vendorID, Name: name})
}

// OpenLedgerAccount creates a ledger account. ErrAlreadyExists means that its name is taken, by a ledger account or by a wallet's id.
func (t Tenant) OpenLedgerAccount(ctx context.Context, name, currency string) (ledger.Wallet, error) {
	if taken, err := t.Account(ctx, name); err == nil && taken.VendorID != "" {
		return ledger.Wallet{}, ErrAlreadyExists
	}
	id := ids.LedgerAccountOf(t.marketplace, name)
	return t.open(ctx, &command.OpenAccount{Request: t.mint(ctx, ids.ShardOf(id)), Account: id, Name: name, Currency: currency})
}

func (t Tenant) open(ctx context.Context, a *command.OpenAccount) (ledger.Wallet, error) {
	a.Marketplace = t.marketplace
	if _, err := t.propose(ctx, t.groupOfAccount(a.Account), command.AppendOpenAccount(nil, t.now(), a)); err != nil {
		return ledger.Wallet{}, err
	}
	return t.accountByID(a.Account)
}

func (t Tenant) groupOfAccount(id ids.UUID) ids.Group { return t.store.Groups.GroupOf(ids.ShardOf(id)) }

// Account returns the wallet with an id, or the ledger account with a name, or ErrNotFound when there is neither.
func (t Tenant) Account(_ context.Context, name string) (ledger.Wallet, error) {
	if id, err := ids.Parse(name); err == nil {
		if w, err := t.accountByID(id); err == nil && w.VendorID != "" || !errors.Is(err, ErrNotFound) && err != nil {
			return w, err
		}
	}
	return t.accountByID(ids.LedgerAccountOf(t.marketplace, name))
}

func (t Tenant) accountByID(id ids.UUID) (ledger.Wallet, error) {
	return readOne(t, t.groupOfAccount(id), func(b shard.Queries) (ledger.Wallet, bool) {
		w, ok := b.Wallet(id)
		return w, ok && w.Marketplace == t.marketplace
	})
}

// Entry is one journal line of an account: an adjustment, or one side of a transfer.
type Entry struct {
	shard.Entry
	Other string // The name of the account on the other side of a transfer; empty for an adjustment.
}

// ListPosition is the entry's position in the list of its account.
func (e *Entry) ListPosition() string { return strconv.FormatUint(e.Seq, 10) }

// Entries lists the journal lines of an account within a span of time, newest first.
func (t Tenant) Entries(_ context.Context, account ids.UUID, span shard.Span, p Page) ([]Entry, bool, error) {
	before, _ := strconv.ParseUint(p.After, 10, 64) // The cursor is authenticated, so it holds a ListPosition.
	got, err := read(t, t.groupOfAccount(account), func(b shard.Queries) (out page[shard.Entry]) {
		out.items, out.more = b.Entries(account, before, span, p.Limit)
		return out
	})
	if err != nil {
		return nil, false, err
	}
	all, names := make([]Entry, len(got.items)), t.newAccountNames()
	for i := range got.items {
		all[i] = Entry{Entry: got.items[i]}
		if all[i].Other, err = names.of(got.items[i].Other); err != nil {
			return nil, false, err
		}
	}
	return all, got.more, nil
}

// accountNames resolves ids of accounts to the names that clients know, and remembers them.
type accountNames struct {
	t     Tenant
	known map[ids.UUID]string
}

func (t Tenant) newAccountNames() accountNames { return accountNames{t, make(map[ids.UUID]string)} }

func (n accountNames) of(id ids.UUID) (string, error) {
	if name, ok := n.known[id]; ok || id.IsZero() {
		return name, nil
	}
	w, err := n.t.accountByID(id)
	switch {
	case err == nil:
		n.known[id] = NameOf(&w)
	case errors.Is(err, ErrNotFound): // A transfer that was returned named it.
		n.known[id] = id.String()
	default:
		return "", err
	}
	return n.known[id], nil
}

// NameOf is the name of an account in the API: the name of a ledger account, the id of a wallet.
func NameOf(w *ledger.Wallet) string {
	if w.VendorID == "" {
		return w.Name
	}
	return w.ID.String()
}

// Transfer is a transfer with the names of its accounts.
type Transfer struct {
	ledger.Transfer
	From, To string
	position string
}

// ListPosition is the transfer's position in the list that it was read from.
func (x *Transfer) ListPosition() string { return x.position }

// Transfer moves an amount between two accounts of the marketplace. ErrInsufficientBalance means that the first has less,
// ErrTooMany that the second cannot hold more. Between accounts of two groups the returned transfer may still be in transit; then
// the leader completes or returns it later (CompleteTransfer), and the caller has to do nothing.
func (t Tenant) Transfer(ctx context.Context, from, to *ledger.Wallet, amount money.Micros, description string) (Transfer, error) {
	x := command.Transfer{
		ID: t.mint(ctx, ids.ShardOf(from.ID)), Marketplace: t.marketplace, From: from.ID, To: to.ID, Amount: amount, Description: description,
	}
	g := t.groupOfAccount(from.ID)
	if g != t.groupOfAccount(to.ID) {
		x.Step = command.TransferSend
	}
	if _, err := t.propose(ctx, g, command.AppendTransfer(nil, t.now(), &x)); err != nil {
		return Transfer{}, err
	}
	stored, err := t.transfer(x.ID)
	switch {
	case err == nil && stored.State == ledger.InTransit:
		if err = t.CompleteTransfer(ctx, &stored); errors.Is(err, ErrUnavailable) {
			err = nil
		}
	case stored.State == ledger.Returned: // The request is a repeat, and its transfer was returned.
		err = ErrTooMany
	}
	return Transfer{Transfer: stored, From: NameOf(from), To: NameOf(to)}, err
}

// transfer returns a transfer as the sender's group has recorded it.
func (t Tenant) transfer(id ids.UUID) (ledger.Transfer, error) {
	return readOne(t, t.groupOfAccount(id), func(b shard.Queries) (ledger.Transfer, bool) { return b.Transfer(id) })
}

// CompleteTransfer ends a transfer that is in transit: the receiving group takes the money, or the sending group takes it back, and
// then the error is ErrTooMany. It may be called by several at the same time, and again after any failure.
func (t Tenant) CompleteTransfer(ctx context.Context, x *ledger.Transfer) error {
	step := command.Transfer{
		ID: x.ID, Step: command.TransferReceive, Marketplace: t.marketplace, From: x.From, To: x.To, Amount: x.Amount, Millis: x.Millis,
		Description: x.Description,
	}
	_, refused := t.propose(ctx, t.groupOfAccount(x.To), command.AppendTransfer(nil, t.now(), &step))
	state := ledger.Completed
	step.Step = command.TransferComplete
	switch {
	case errors.Is(refused, ErrTooMany):
		step.Step, state = command.TransferReturn, ledger.Returned
	case refused != nil:
		return refused
	}
	if _, err := t.propose(ctx, t.groupOfAccount(x.From), command.AppendTransfer(nil, t.now(), &step)); err != nil {
		return err
	}
	x.State = state
	return refused
}

// TransfersInTransit lists transfers that are in transit, at most limit of each group.
func (t Tenant) TransfersInTransit(_ context.Context, limit int) (all []ledger.Transfer, err error) {
	for _, g := range t.store.Groups.Groups() {
		some, err := read(t, g, func(b shard.Queries) []ledger.Transfer { return b.InTransit(t.marketplace, limit) })
		if err != nil {
			return all, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// Transfers lists the transfers of the marketplace within a span of time, newest first.
func (t Tenant) Transfers(_ context.Context, span shard.Span, p Page) ([]Transfer, bool, error) {
	var before *ledger.Transfer
	if p.After != "" {
		before = new(transferAt(p.After))
	}
	var found []ledger.Transfer
	more := false
	for _, g := range t.store.Groups.Groups() {
		got, err := read(t, g, func(b shard.Queries) (out page[ledger.Transfer]) {
			out.items, out.more = b.Transfers(t.marketplace, before, span, p.Limit)
			return out
		})
		if err != nil {
			return nil, false, err
		}
		found, more = append(found, got.items...), more || got.more
	}
	slices.SortFunc(found, func(a, b ledger.Transfer) int {
		return cmp.Compare(positionOf(a.Millis, a.ID), positionOf(b.Millis, b.ID))
	})
	if len(found) > p.Limit {
		found, more = found[:p.Limit], true
	}
	all, err := t.withNames(found, func(i int) string { return positionOf(found[i].Millis, found[i].ID) })
	return all, more, err
}

// transferAt is the transfer, with nothing but its time and id, that stands at a position.
func transferAt(position string) ledger.Transfer {
	left, _ := strconv.ParseInt(position[:newestLen], 16, 64) // The cursor is authenticated.
	id, _ := ids.Parse(position[newestLen:])
	return ledger.Transfer{Millis: math.MaxInt64 - left, ID: id}
}

// TransfersOf lists the transfers from and to an account within a span of time, newest first.
func (t Tenant) TransfersOf(_ context.Context, account ids.UUID, span shard.Span, p Page) ([]Transfer, bool, error) {
	before, _ := strconv.ParseUint(p.After, 10, 64) // The cursor is authenticated.
	var lines []uint64
	got, err := read(t, t.groupOfAccount(account), func(b shard.Queries) (out page[ledger.Transfer]) {
		for {
			entries, more := b.Entries(account, before, span, p.Limit)
			for i := range entries {
				e := &entries[i]
				before = e.Seq
				if e.Kind == ledger.Adjustment || e.Kind == ledger.TransferReturned || isReversal(e.Kind) {
					continue
				}
				if len(out.items) == p.Limit {
					out.more = true
					return out
				}
				x, _ := b.Transfer(e.Key)
				out.items, lines = append(out.items, x), append(lines, e.Seq)
			}
			if !more {
				return out
			}
		}
	})
	if err != nil {
		return nil, false, err
	}
	all, err := t.withNames(got.items, func(i int) string { return strconv.FormatUint(lines[i], 10) })
	return all, got.more, err
}

// withNames adds the names of the accounts. A transfer that arrived from another group is shown as completed.
func (t Tenant) withNames(found []ledger.Transfer, position func(i int) string) ([]Transfer, error) {
	all, names := make([]Transfer, len(found)), t.newAccountNames()
	for i := range found {
		from, err := names.of(found[i].From)
		if err != nil {
			return nil, err
		}
		to, err := names.of(found[i].To)
		if err != nil {
			return nil, err
		}
		all[i] = Transfer{found[i], from, to, position(i)}
		if all[i].State == ledger.Received {
			all[i].State = ledger.Completed
		}
	}
	return all, nil
}
