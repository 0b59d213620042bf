package store

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/money"
)

// Adjust moves money into (positive) or out of a vendor's wallet and returns the new balance. The zero wallet id means the default
// wallet, which its first adjustment creates. strict refuses a balance below zero with ErrInsufficientBalance.
func (t Tenant) Adjust(ctx context.Context, vendorID string, wallet ids.UUID, amount money.Micros, strict bool, description string) (money.Micros, error) {
	return t.adjust(ctx, &command.AdjustWallet{
		VendorID: vendorID, Wallet: wallet, Amount: amount, Strict: strict, Description: description,
	})
}

// Burn takes an amount from a vendor's default wallet and, when that has not enough, from the others in the order of Wallets,
// all of it or nothing. ErrInsufficientBalance when all together have not enough.
func (t Tenant) Burn(ctx context.Context, vendorID string, amount money.Micros, description string) error {
	all, err := t.Wallets(ctx, vendorID)
	if err != nil {
		return err
	}
	a := &command.AdjustWallet{VendorID: vendorID, Amount: -amount, Strict: true, Description: description}
	if all[0].Balance < amount { // Only then, because the command needs a feature level to name others.
		for i := range all[1:] {
			a.Others = append(a.Others, all[1+i].ID)
		}
	}
	_, err = t.adjust(ctx, a)
	return err
}

func (t Tenant) adjust(ctx context.Context, a *command.AdjustWallet) (money.Micros, error) {
	if a.Wallet.IsZero() {
		a.Wallet = ids.DefaultWalletOf(t.marketplace, a.VendorID)
	}
	a.Request, a.Marketplace = t.mint(ctx, ids.ShardOf(ids.AccountOf(t.marketplace, a.VendorID))), t.marketplace
	r, err := t.propose(ctx, t.groupOf(a.VendorID), command.AppendAdjustWallet(nil, t.now(), a))
	return r.Balance, err
}

// EnsureWallets is Wallets for a caller that shows the ids. It stores the default wallet if it is not stored yet, so that a
// transfer can name it. A cluster that cannot write now returns the list all the same.
func (t Tenant) EnsureWallets(ctx context.Context, vendorID string) ([]ledger.Wallet, error) {
	all, err := t.Wallets(ctx, vendorID)
	if err == nil && all[0].CreatedMillis == 0 {
		_, _ = t.open(ctx, &command.OpenAccount{Account: all[0].ID, VendorID: vendorID})
	}
	return all, err
}

// Wallets lists the wallets of a vendor: the default wallet first, then the others in the order of their creation. The default
// wallet is listed with balance 0 before its first deposit.
func (t Tenant) Wallets(_ context.Context, vendorID string) ([]ledger.Wallet, error) {
	all, err := read(t, t.groupOf(vendorID), func(b shard.Queries) []ledger.Wallet {
		return b.Wallets(t.marketplace, vendorID)
	})
	if err != nil {
		return nil, err
	}
	made := func(w ledger.Wallet) int64 {
		if w.Default {
			return -1
		}
		return w.CreatedMillis
	}
	slices.SortFunc(all, func(a, b ledger.Wallet) int {
		return cmp.Or(cmp.Compare(made(a), made(b)), bytes.Compare(a.ID[:], b.ID[:]))
	})
	if len(all) == 0 || !all[0].Default {
		first := ledger.Wallet{
			ID: ids.DefaultWalletOf(t.marketplace, vendorID), Marketplace: t.marketplace, VendorID: vendorID, Name: "default", Default: true,
		}
		all = slices.Insert(all, 0, first)
	}
	return all, nil
}
