package store

import (
	"context"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/money"
)

// Adjust moves money into (positive) or out of a vendor's wallet and returns the new balance. The zero wallet id means
// the default wallet, which is made by its first adjustment. strict refuses a balance below zero with
// ErrInsufficientBalance.
func (t Tenant) Adjust(ctx context.Context, vendorID string, wallet ids.UUID, amount money.Micros, strict bool, description string) (money.Micros, error) {
	if wallet.IsZero() {
		wallet = ids.DefaultWalletOf(t.marketplace, vendorID)
	}
	account := ids.ShardOf(ids.AccountOf(t.marketplace, vendorID))
	cmd := command.AppendAdjustWallet(nil, t.now(), &command.AdjustWallet{
		Request: t.mint(ctx, account), Marketplace: t.marketplace, VendorID: vendorID, Wallet: wallet,
		Amount: amount, Strict: strict, Description: description,
	})
	r, err := t.propose(ctx, t.groupOf(vendorID), cmd)
	return r.Balance, err
}

// Wallets lists the wallets of a vendor; the default wallet comes first and is listed with balance 0 before its first
// deposit.
func (t Tenant) Wallets(_ context.Context, vendorID string) ([]ledger.Wallet, error) {
	all, err := read(t, t.groupOf(vendorID), func(b shard.Books) []ledger.Wallet {
		return b.Wallets(t.marketplace, vendorID)
	})
	if err != nil {
		return nil, err
	}
	standard := ids.DefaultWalletOf(t.marketplace, vendorID)
	at := slices.IndexFunc(all, func(w ledger.Wallet) bool { return w.ID == standard })
	if at < 0 {
		first := ledger.Wallet{ID: standard, Marketplace: t.marketplace, VendorID: vendorID, Name: "default", Default: true}
		return slices.Insert(all, 0, first), nil
	}
	all[0], all[at] = all[at], all[0]
	return all, nil
}
