package billing

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/money"
)

const (
	accounts = service + "/ledger/accounts"
	account  = accounts + "/{account_id}"
)

func registerLedger(api huma.API) {
	resource.Add(api, resource.Op{
		ID: "createLedgerAccount", Method: http.MethodPost, Status: http.StatusCreated, Path: accounts, Tag: tag,
		Doc: "Open a ledger account of the marketplace. Its balance is 0 until a transfer arrives.",
	}, openAccount)
	resource.Add(api, resource.Op{
		ID: "getLedgerAccount", Method: http.MethodGet, Path: account, Tag: tag,
		Doc: "Read a ledger account, or a wallet by its id: what it holds and the sums that make it up.",
	}, getAccount)
	resource.Add(api, resource.Op{
		ID: "listLedgerEntries", Method: http.MethodGet, Path: account + "/entries", Tag: tag,
		Doc: "List deposits, corrections, transfers and reversals of a ledger account or wallet, newest first. Charges are in the reports.",
	}, entries)
	registerTransfers(api)
}

// AccountBody is a new account.
type AccountBody struct {
	AccountID    string `json:"accountId" minLength:"1" maxLength:"64"`
	CurrencyCode string `json:"currencyCode" pattern:"^[A-Z]{3}$" doc:"ISO 4217."`
}

// Account is a ledger account or a wallet. Its balance is deposited + transferred - spent.
type Account struct {
	AccountID    string        `json:"accountId" doc:"The name of a ledger account, or the id of a wallet."`
	Balance      int64         `json:"balance" doc:"Minor units, rounded down."`
	CurrencyCode string        `json:"currencyCode"`
	IsClosed     bool          `json:"isClosed" doc:"Always false: there is no operation that closes an account."`
	VendorID     *string       `json:"vendorId" doc:"The vendor of a wallet; null for a ledger account."`
	Deposited    int64         `json:"deposited" doc:"Sum of deposits and corrections, in minor units, rounded down."`
	Transferred  int64         `json:"transferred" doc:"Transfers received minus transfers sent, in minor units, rounded down."`
	Spent        int64         `json:"spent" doc:"Charges less reversals, in minor units: what of the deposits and transfers is not in the balance, so a part of a minor unit counts as spent."`
	CreatedAt    resource.Time `json:"createdAt"`
}

// Entry is a journal line of an account.
type Entry struct {
	Line        int64         `json:"line" doc:"Number of the line in the journal of the account's group; later lines have larger ones."`
	Kind        string        `json:"kind" enum:"adjustment,transfer,transfer_returned,reversal" doc:"adjustment: a deposit or correction; reversal: what was given back of charges; transfer_returned: money that came back because the other account could not hold it."`
	Amount      int64         `json:"amount" doc:"Minor units, rounded down. Negative if money left the account."`
	RequestID   string        `json:"requestId" format:"uuid" doc:"The id of the transfer, adjustment or reversal. It follows from the Idempotency-Key of the request."`
	Account     *string       `json:"account" doc:"The other side of a transfer."`
	Description string        `json:"description"`
	CreatedAt   resource.Time `json:"createdAt"`
}

// EntryList is one page of entries.
type EntryList struct {
	Entries []Entry `json:"entries"`
	resource.Page
}

type (
	openInput     struct{ Body AccountBody }
	accountOutput struct{ Body Account }
	entriesInput  struct {
		OneAccount
		DaysInput
		Limit    int    `query:"limit" minimum:"1" maximum:"100" default:"100"`
		NextPage string `query:"next_page"`
	}
	entriesOutput struct{ Body EntryList }
)

// OneAccount names an account.
type OneAccount struct {
	AccountID string `path:"account_id" minLength:"1" maxLength:"64"`
}

func accountOf(ctx context.Context, w *ledger.Wallet) *accountOutput {
	m := resource.Tenant(ctx).Settings()
	a := Account{
		AccountID: store.NameOf(w), Balance: money.MinorFloor(w.Balance, m.CurrencyExponent), CurrencyCode: currencyOf(ctx, w),
		Deposited: money.MinorFloor(w.Deposited, m.CurrencyExponent), Transferred: money.MinorFloor(w.Transferred, m.CurrencyExponent),
		CreatedAt: resource.Time(w.CreatedMillis),
	}
	a.Spent = a.Deposited + a.Transferred - a.Balance
	if w.VendorID != "" {
		a.VendorID = &w.VendorID
	}
	return &accountOutput{a}
}

// currencyOf is the currency of an account. A wallet has the currency of the marketplace.
func currencyOf(ctx context.Context, w *ledger.Wallet) string {
	if w.Currency != "" {
		return w.Currency
	}
	return resource.Tenant(ctx).Settings().CurrencyCode
}

func openAccount(ctx context.Context, in *openInput) (*accountOutput, error) {
	w, err := resource.Tenant(ctx).OpenLedgerAccount(ctx, in.Body.AccountID, in.Body.CurrencyCode)
	switch {
	case errors.Is(err, store.ErrAlreadyExists):
		return nil, &resource.Problem{Code: apierr.AccountUniqueViolation}
	case err != nil:
		return nil, resource.LimitErrorOf(err, "the marketplace has as many ledger accounts as it may have")
	}
	return accountOf(ctx, &w), nil
}

func getAccount(ctx context.Context, in *OneAccount) (*accountOutput, error) {
	w, err := resource.Tenant(ctx).Account(ctx, in.AccountID)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return accountOf(ctx, &w), nil
}

var entryKinds = map[ledger.LineKind]string{
	ledger.Adjustment: "adjustment", ledger.TransferReturned: "transfer_returned", ledger.ClickReversal: "reversal",
	ledger.ImpressionReversal: "reversal", ledger.PurchaseReversal: "reversal",
}

func entries(ctx context.Context, in *entriesInput) (*entriesOutput, error) {
	span, err := in.span(ctx)
	if err != nil {
		return nil, err
	}
	w, err := resource.Tenant(ctx).Account(ctx, in.AccountID)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	cursors := resource.CursorsFor(ctx, resource.Tenant(ctx).CursorKey(), "listLedgerEntries", in.AccountID, in.StartDate, in.EndDate)
	all, end, err := resource.List(cursors, in.NextPage, in.Limit, func(e store.Entry) string { return e.ListPosition() },
		func(p store.Page) ([]store.Entry, bool, error) {
			return resource.Tenant(ctx).Entries(ctx, w.ID, span, p)
		})
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	exponent := resource.Tenant(ctx).Settings().CurrencyExponent
	list := make([]Entry, len(all))
	for i := range all {
		e := &all[i]
		list[i] = Entry{
			Line: int64(e.Seq), Kind: "transfer", Amount: money.MinorFloor(e.Amount, exponent), RequestID: resource.UUID(e.Key).String(), // Lines are fewer.
			Description: e.Description, CreatedAt: resource.Time(e.Millis),
		}
		if kind := entryKinds[e.Kind]; kind != "" {
			list[i].Kind = kind
		}
		if e.Other != "" {
			list[i].Account = &e.Other
		}
	}
	return &entriesOutput{EntryList{list, end}}, nil
}
