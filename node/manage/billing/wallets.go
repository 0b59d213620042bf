package billing

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

func registerWallets(api huma.API) {
	add(api, "listWallets", http.MethodGet, "/wallets", "List a vendor's wallets, the default one first.", wallets)
	resource.Add(api, resource.Op{
		ID: "createWallet", Method: http.MethodPost, Status: http.StatusCreated, Path: base + "/wallets", Tag: tag,
		Doc: "Create a further wallet for a vendor, 3 at most. It pays the campaigns that name it.",
	}, create)
	add(api, "getWallet", http.MethodGet, "/wallets/{wallet_id}", "Read one wallet.", get)
	add(api, "adjustWallet", http.MethodPost, "/wallets/{wallet_id}/adjust", "Correct a wallet by an amount.", adjust)
}

// WalletBody is a new wallet.
type WalletBody struct {
	Name string `json:"name" minLength:"1" maxLength:"64"`
}

// AdjustBody is a correction of a wallet.
type AdjustBody struct {
	Amount      int64  `json:"amount" minimum:"-20000000000" maximum:"20000000000" doc:"Minor units, not 0. A negative amount is taken out, not below zero: wallets have no credit limit."`
	Description string `json:"description" minLength:"1" maxLength:"255"`
}

// Wallet is one wallet.
type Wallet struct {
	WalletID     string `json:"walletId" format:"uuid"`
	Name         string `json:"name"`
	Balance      int64  `json:"balance" doc:"Minor units, rounded down."`
	CurrencyCode string `json:"currencyCode"`
	IsDefault    bool   `json:"isDefault" doc:"Campaigns that name no wallet are paid from it."`
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
	walletsOutput struct{ Body WalletList }
	walletOutput  struct{ Body Wallet }
	createInput   struct {
		VendorInput
		Body WalletBody
	}
	adjustInput struct {
		OneWallet
		Body AdjustBody
	}
	adjustOutput struct{ Body Adjusted }
)

// OneWallet names a wallet of a vendor.
type OneWallet struct {
	VendorInput
	WalletID string `path:"wallet_id" format:"uuid"`
}

func walletOf(w *ledger.Wallet, m *model.Marketplace) Wallet {
	return Wallet{w.ID.String(), w.Name, money.MinorFloor(w.Balance, m.CurrencyExponent), m.CurrencyCode, w.Default}
}

func wallets(ctx context.Context, in *VendorInput) (*walletsOutput, error) {
	if err := requireVendor(ctx, in.VendorID); err != nil {
		return nil, err
	}
	all, err := resource.Tenant(ctx).EnsureWallets(ctx, in.VendorID)
	if err != nil {
		return nil, resource.VendorErrorOf(err)
	}
	m := resource.Tenant(ctx).Settings()
	list := make([]Wallet, len(all))
	for i := range all {
		list[i] = walletOf(&all[i], &m)
	}
	return &walletsOutput{WalletList{list}}, nil
}

func create(ctx context.Context, in *createInput) (*walletOutput, error) {
	if err := requireVendor(ctx, in.VendorID); err != nil {
		return nil, err
	}
	w, err := resource.Tenant(ctx).OpenWallet(ctx, in.VendorID, in.Body.Name)
	if err != nil {
		return nil, resource.LimitErrorOf(err, "the vendor has 3 wallets already")
	}
	m := resource.Tenant(ctx).Settings()
	return &walletOutput{walletOf(&w, &m)}, nil
}

// find returns the wallet that a request names, or a 404.
func (in *OneWallet) find(ctx context.Context) (ledger.Wallet, error) {
	all, err := walletsOf(ctx, in.VendorID)
	if err != nil {
		return ledger.Wallet{}, err
	}
	id := resource.ParseUUID(in.WalletID)
	for i := range all {
		if all[i].ID == id {
			return all[i], nil
		}
	}
	return ledger.Wallet{}, resource.Refuse(apierr.ResourceNotFound, "the vendor has no such wallet")
}

func get(ctx context.Context, in *OneWallet) (*walletOutput, error) {
	w, err := in.find(ctx)
	if err != nil {
		return nil, err
	}
	m := resource.Tenant(ctx).Settings()
	return &walletOutput{walletOf(&w, &m)}, nil
}

func adjust(ctx context.Context, in *adjustInput) (*adjustOutput, error) {
	if in.Body.Amount == 0 {
		return nil, resource.Invalid(resource.At("value_error", "must not be 0", "body", "amount"))
	}
	w, err := in.find(ctx)
	if err != nil {
		return nil, err
	}
	return adjustBy(ctx, in, w.ID)
}

func adjustBy(ctx context.Context, in *adjustInput, wallet ids.UUID) (*adjustOutput, error) {
	exponent := resource.Tenant(ctx).Settings().CurrencyExponent
	amount, err := money.FromMinor(in.Body.Amount, exponent)
	if err != nil {
		return nil, resource.Invalid(resource.At("less_than_equal", "is out of range", "body", "amount"))
	}
	left, err := resource.Tenant(ctx).Adjust(ctx, in.VendorID, wallet, amount, amount < 0, in.Body.Description)
	if err != nil {
		return nil, resource.LimitErrorOf(err, "the balance would be larger than any wallet may be")
	}
	return &adjustOutput{Adjusted{money.MinorFloor(left, exponent)}}, nil
}
