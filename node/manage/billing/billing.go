// Package billing serves the money of vendors: balances and wallets.
package billing

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

const (
	base = "/public/v1/billing-service/vendors/{vendor_id}"
	tag  = "Billing"
)

// Store is what billing needs of a marketplace's store.
type Store interface {
	Settings() market.Marketplace
	Vendor(ctx context.Context, id string) (market.Vendor, error)
	Wallets(ctx context.Context, vendorID string) ([]ledger.Wallet, error)
	Adjust(ctx context.Context, vendorID string, wallet ids.UUID, amount money.Micros, strict bool, description string) (money.Micros, error)
}

// Register mounts the billing operations.
func Register(api huma.API) {
	add(api, "getBalance", http.MethodGet, "/balance", "Read the sum of a vendor's wallets.", balance)
	add(api, "addBalance", http.MethodPost, "/balance", "Pay into the vendor's default wallet.", deposit)
	add(api, "burnBalance", http.MethodPost, "/balance/burn", "Take out of the vendor's default wallet, not below zero.", burn)
	add(api, "listWallets", http.MethodGet, "/wallets", "List a vendor's wallets.", wallets)
	add(api, "adjustWallet", http.MethodPost, "/wallets/{wallet_id}/adjust", "Correct a wallet by an amount.", adjust)
}

func add[I, O any](api huma.API, id, method, path, doc string, serve func(context.Context, *I) (*O, error)) {
	resource.Add(api, resource.Op{ID: id, Method: method, Path: base + path, Tag: tag, Doc: doc}, serve)
}

func storeOf(ctx context.Context) Store { return resource.Tenant[Store](ctx) }

// VendorInput names the vendor.
type VendorInput struct {
	VendorID string `path:"vendor_id" minLength:"1" maxLength:"255"`
}

// BalanceBody moves money; what is finer than a minor unit is cut off.
type BalanceBody struct {
	Balance     resource.Decimal `json:"balance" exclusiveMinimum:"0" maximum:"1000000000000" doc:"Major units."`
	Description string           `json:"description,omitempty" maxLength:"255"`
}

// AdjustBody corrects a wallet.
type AdjustBody struct {
	Amount      int64  `json:"amount" minimum:"-20000000000" maximum:"20000000000" doc:"Minor units, not 0; negative takes out."`
	Description string `json:"description" minLength:"1" maxLength:"255"`
}

// Balance is the answer to getBalance.
type Balance struct {
	Balance      resource.Major `json:"balance" doc:"Major units."`
	CurrencyCode string         `json:"currencyCode"`
}

// Result says that money was moved.
type Result struct {
	Result bool `json:"result"`
}

// Wallet is one wallet.
type Wallet struct {
	WalletID     string `json:"walletId" format:"uuid"`
	Name         string `json:"name"`
	Balance      int64  `json:"balance" doc:"Minor units, rounded down."`
	CurrencyCode string `json:"currencyCode"`
	IsDefault    bool   `json:"isDefault"`
}

// WalletList is all wallets of a vendor.
type WalletList struct {
	Wallets []Wallet `json:"wallets"`
}

// Adjusted is the balance after a correction.
type Adjusted struct {
	Balance int64 `json:"balance" doc:"Minor units, rounded down."`
}

type (
	balanceOutput struct{ Body Balance }
	balanceInput  struct {
		VendorInput
		Body BalanceBody
	}
	resultOutput struct{ Body Result }
	walletOutput struct{ Body WalletList }
	adjustInput  struct {
		VendorInput
		WalletID string `path:"wallet_id" format:"uuid"`
		Body     AdjustBody
	}
	adjustOutput struct{ Body Adjusted }
)

// known refuses vendors that the catalog does not have.
func known(ctx context.Context, vendorID string) error {
	_, err := storeOf(ctx).Vendor(ctx, vendorID)
	return resource.OfVendor(err)
}

func balance(ctx context.Context, in *VendorInput) (*balanceOutput, error) {
	all, err := walletsOf(ctx, in.VendorID)
	if err != nil {
		return nil, err
	}
	var sum money.Micros
	for i := range all {
		sum += all[i].Balance // A handful of amounts of the engine cannot overflow an int64 twice over.
	}
	return &balanceOutput{Balance{resource.Major(sum), storeOf(ctx).Settings().CurrencyCode}}, nil
}

func walletsOf(ctx context.Context, vendorID string) ([]ledger.Wallet, error) {
	if err := known(ctx, vendorID); err != nil {
		return nil, err
	}
	all, err := storeOf(ctx).Wallets(ctx, vendorID)
	return all, resource.OfVendor(err)
}

func wallets(ctx context.Context, in *VendorInput) (*walletOutput, error) {
	all, err := walletsOf(ctx, in.VendorID)
	if err != nil {
		return nil, err
	}
	m := storeOf(ctx).Settings()
	list := make([]Wallet, len(all))
	for i := range all {
		w := &all[i]
		list[i] = Wallet{w.ID.String(), w.Name, whole(w.Balance, m.CurrencyExponent), m.CurrencyCode, w.Default}
	}
	return &walletOutput{WalletList{list}}, nil
}

// whole is a balance in minor units, rounded down: a wallet never shows money that it does not have.
func whole(m money.Micros, exponent uint8) int64 {
	per := money.PerMinor(exponent)
	n := m / per
	if m%per < 0 {
		n--
	}
	return int64(n)
}

func deposit(ctx context.Context, in *balanceInput) (*resultOutput, error) {
	return move(ctx, in, 1)
}

func burn(ctx context.Context, in *balanceInput) (*resultOutput, error) {
	return move(ctx, in, -1)
}

// move pays into or out of the default wallet.
func move(ctx context.Context, in *balanceInput, sign money.Micros) (*resultOutput, error) {
	amount, err := in.Body.Balance.Micros()
	if err != nil {
		return nil, resource.Invalid(resource.At("less_than_equal", "is out of range", "body", "balance"))
	}
	amount -= amount % money.PerMinor(storeOf(ctx).Settings().CurrencyExponent)
	if amount == 0 {
		return nil, resource.Invalid(resource.At("greater_than", "must be at least one minor unit", "body", "balance"))
	}
	if err := known(ctx, in.VendorID); err != nil {
		return nil, err
	}
	if _, err := storeOf(ctx).Adjust(ctx, in.VendorID, ids.UUID{}, sign*amount, sign < 0, in.Body.Description); err != nil {
		return nil, resource.OfLimit(err, "the balance would be larger than any wallet may be")
	}
	return &resultOutput{Result{true}}, nil
}

func adjust(ctx context.Context, in *adjustInput) (*adjustOutput, error) {
	if in.Body.Amount == 0 {
		return nil, resource.Invalid(resource.At("value_error", "must not be 0", "body", "amount"))
	}
	all, err := walletsOf(ctx, in.VendorID)
	if err != nil {
		return nil, err
	}
	id := resource.ParseUUID(in.WalletID)
	for i := range all {
		if all[i].ID == id {
			return adjustBy(ctx, in, id)
		}
	}
	return nil, resource.Refuse(apierr.ResourceNotFound, "the vendor has no such wallet")
}

func adjustBy(ctx context.Context, in *adjustInput, wallet ids.UUID) (*adjustOutput, error) {
	exponent := storeOf(ctx).Settings().CurrencyExponent
	amount, err := money.FromMinor(in.Body.Amount, exponent)
	if err != nil {
		return nil, resource.Invalid(resource.At("less_than_equal", "is out of range", "body", "amount"))
	}
	left, err := storeOf(ctx).Adjust(ctx, in.VendorID, wallet, amount, false, in.Body.Description)
	if err != nil {
		return nil, resource.OfLimit(err, "the balance would be larger than any wallet may be")
	}
	return &adjustOutput{Adjusted{whole(left, exponent)}}, nil
}
