// Package billing serves the money of a marketplace: balances and wallets of vendors, ledger accounts, and transfers between any of
// them.
//
// Money moves once or not at all. The balance of an account is deposited + transferred - spent, where spent is charges less reversals, and `gavel check` recomputes each of the
// three. A campaign that names no wallet is paid by its vendor's default wallet until a PATCH changes that; what was charged stays
// where it was charged. A transfer is answered when the money has arrived. Only if the group of the other account cannot be reached at
// that moment is it answered as in_transit, and the leader completes it (jobs.MoneyRecovery). wallet:empty is sent once for each
// emptying of a prepaid wallet, by charges, corrections and transfers alike: the state machine records the emptying with the change,
// and the id of the notification follows from it.
//
// A reversal gives back what a campaign was charged: the charge of a resolvedBidId as long as its charge key is remembered, or an
// amount of the campaign, which the reports lose in the newest hours that have it. It is never more than was charged and not given
// back yet; what a report counts as charged stays, and adSpent falls. The reversal keeps reason, note and author, and cannot be undone.
//
// Limits: nothing closes an account or deletes a wallet. A marketplace has at most 10,000 ledger accounts in a group. Names of wallets
// need not be unique. An account of another currency than the marketplace's stays empty, because money comes from wallets. The default
// wallet of a vendor that never had money can be named in a transfer only after listWallets has shown its id. Changing the billing mode
// to pre stops campaigns on empty wallets without a wallet:empty. Lists of transfers by account and of entries read everything newer
// than their days. Charges are not listed as entries, because a journal of 20,000 of them a second would double.
package billing

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/money"
)

const (
	service = "/public/v1/billing-service"
	base    = service + "/vendors/{vendor_id}"
	tag     = "Billing"
)

// Register mounts the billing operations.
func Register(api huma.API) {
	add(api, "getBalance", http.MethodGet, "/balance", "Read the sum of a vendor's wallets.", balance)
	add(api, "addBalance", http.MethodPost, "/balance", "Deposit into the vendor's default wallet.", deposit)
	add(api, "burnBalance", http.MethodPost, "/balance/burn", "Withdraw from the vendor's wallets, not below zero: from the default wallet, then from the others, the oldest first.", burn)
	registerWallets(api)
	registerLedger(api)
}

func add[I, O any](api huma.API, id, method, path, doc string, serve func(context.Context, *I) (*O, error)) {
	resource.Add(api, resource.Op{ID: id, Method: method, Path: base + path, Tag: tag, Doc: doc}, serve)
}

// VendorInput names the vendor.
type VendorInput struct {
	VendorID string `path:"vendor_id" minLength:"1" maxLength:"255"`
}

// BalanceBody is an amount to deposit or withdraw. Fractions of a minor unit are cut off.
type BalanceBody struct {
	Balance     resource.Decimal `json:"balance" exclusiveMinimum:"0" maximum:"1000000000000" doc:"Major units."`
	Description string           `json:"description,omitempty" maxLength:"255"`
}

// Balance is the answer to getBalance.
type Balance struct {
	Balance      resource.Major `json:"balance" doc:"Major units."`
	CurrencyCode string         `json:"currencyCode"`
}

// Result confirms that money was moved.
type Result struct {
	Result bool `json:"result"`
}

type (
	balanceOutput struct{ Body Balance }
	balanceInput  struct {
		VendorInput
		Body BalanceBody
	}
	resultOutput struct{ Body Result }
)

// requireVendor returns an error for a vendor that is not in the catalog.
func requireVendor(ctx context.Context, vendorID string) error {
	_, err := resource.Tenant(ctx).Vendor(ctx, vendorID)
	return resource.VendorErrorOf(err)
}

func balance(ctx context.Context, in *VendorInput) (*balanceOutput, error) {
	all, err := walletsOf(ctx, in.VendorID)
	if err != nil {
		return nil, err
	}
	var sum money.Micros
	for i := range all {
		sum += all[i].Balance // It cannot overflow: a vendor has few wallets, and a balance is far below the bound of an int64.
	}
	return &balanceOutput{Balance{resource.Major(sum), resource.Tenant(ctx).Settings().CurrencyCode}}, nil
}

func walletsOf(ctx context.Context, vendorID string) ([]ledger.Wallet, error) {
	if err := requireVendor(ctx, vendorID); err != nil {
		return nil, err
	}
	all, err := resource.Tenant(ctx).Wallets(ctx, vendorID)
	return all, resource.VendorErrorOf(err)
}

func deposit(ctx context.Context, in *balanceInput) (*resultOutput, error) {
	return in.move(ctx, func(st store.Tenant, amount money.Micros) error {
		_, err := st.Adjust(ctx, in.VendorID, ids.UUID{}, amount, false, in.Body.Description)
		return err
	})
}

func burn(ctx context.Context, in *balanceInput) (*resultOutput, error) {
	return in.move(ctx, func(st store.Tenant, amount money.Micros) error {
		return st.Burn(ctx, in.VendorID, amount, in.Body.Description)
	})
}

// move checks the vendor and the amount, cuts it to minor units, and moves it.
func (in *balanceInput) move(ctx context.Context, do func(st store.Tenant, amount money.Micros) error) (*resultOutput, error) {
	amount, err := in.Body.Balance.Micros()
	if err != nil {
		return nil, resource.Invalid(resource.At("less_than_equal", "is out of range", "body", "balance"))
	}
	amount -= amount % money.PerMinor(resource.Tenant(ctx).Settings().CurrencyExponent)
	if amount == 0 {
		return nil, resource.Invalid(resource.At("greater_than", "must be at least one minor unit", "body", "balance"))
	}
	if err := requireVendor(ctx, in.VendorID); err != nil {
		return nil, err
	}
	if err := do(resource.Tenant(ctx), amount); err != nil {
		return nil, resource.LimitErrorOf(err, "the balance would be larger than any wallet may be")
	}
	return &resultOutput{Result{true}}, nil
}
