package billing

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/money"
)

const transfers = service + "/ledger/transfers"

func registerTransfers(api huma.API) {
	resource.Add(api, resource.Op{
		ID: "createTransfer", Method: http.MethodPost, Status: http.StatusCreated, Path: transfers, Tag: tag,
		Doc: "Move money from one ledger account or wallet to another, all of it or nothing. While status is in_transit the money is on " +
			"its way; it arrives or is returned without a further request.",
	}, transfer)
	resource.Add(api, resource.Op{
		ID: "listTransfers", Method: http.MethodGet, Path: transfers, Tag: tag, Doc: "List transfers, newest first.",
	}, list)
}

// TransferBody is a new transfer.
type TransferBody struct {
	From         string `json:"from" minLength:"1" maxLength:"64" doc:"A ledger account, or a wallet by its id."`
	To           string `json:"to" minLength:"1" maxLength:"64"`
	Amount       int64  `json:"amount" minimum:"1" maximum:"20000000000" doc:"Minor units."`
	CurrencyCode string `json:"currencyCode,omitempty" pattern:"^[A-Z]{3}$" doc:"If given, it must be the currency of both."`
	Description  string `json:"description,omitempty" maxLength:"255"`
}

// Transfer is a transfer in answers.
type Transfer struct {
	TransferID  string        `json:"transferId" format:"uuid"`
	From        string        `json:"from"`
	To          string        `json:"to"`
	Amount      int64         `json:"amount" doc:"Minor units."`
	Description string        `json:"description"`
	Status      string        `json:"status" enum:"completed,in_transit,returned" doc:"returned: the other account could not hold more."`
	CreatedAt   resource.Time `json:"createdAt"`
}

// TransferList is one page of transfers.
type TransferList struct {
	Transfers []Transfer `json:"transfers"`
	resource.Page
}

// DaysInput limits a list to days.
type DaysInput struct {
	StartDate string `query:"start_date" format:"date" doc:"First day, in the marketplace's time zone."`
	EndDate   string `query:"end_date" format:"date" doc:"Last day."`
}

type (
	transferInput  struct{ Body TransferBody }
	transferOutput struct{ Body Transfer }
	listInput      struct {
		Account string `query:"account" maxLength:"64" doc:"Only those from or to a ledger account or wallet."`
		DaysInput
		Limit    int    `query:"limit" minimum:"1" maximum:"100" default:"100"`
		NextPage string `query:"next_page"`
	}
	listOutput struct{ Body TransferList }
)

// span converts the days to times. An absent day gives 0, which means no bound.
func (in *DaysInput) span(ctx context.Context) (s shard.Span, err error) {
	zone := resource.Tenant(ctx).Location()
	day := func(text string, days int) int64 {
		if text == "" {
			return 0
		}
		at, _ := time.ParseInLocation(time.DateOnly, text, zone) // The kit has checked the format.
		return at.AddDate(0, 0, days).UnixMilli()
	}
	s = shard.Span{From: day(in.StartDate, 0), To: day(in.EndDate, 1)}
	if s.To != 0 && s.To <= s.From {
		return s, resource.Invalid(resource.At("value_error", "must not be before start_date", "query", "end_date"))
	}
	return s, nil
}

var stateWords = map[ledger.TransferState]string{
	ledger.Completed: "completed", ledger.InTransit: "in_transit", ledger.Returned: "returned", ledger.Refused: "returned",
}

func transferOf(x *store.Transfer, exponent uint8) Transfer {
	return Transfer{
		x.ID.String(), x.From, x.To, money.MinorFloor(x.Amount, exponent), x.Description, stateWords[x.State], resource.Time(x.Millis),
	}
}

// transfer checks in the order of the interface: the accounts differ, exist, have the same currency, and the first has the money.
func transfer(ctx context.Context, in *transferInput) (*transferOutput, error) {
	b := &in.Body
	from, to, err := b.accounts(ctx)
	if err != nil {
		return nil, err
	}
	exponent := resource.Tenant(ctx).Settings().CurrencyExponent
	amount, err := money.FromMinor(b.Amount, exponent)
	if err != nil {
		return nil, resource.Invalid(resource.At("less_than_equal", "is out of range", "body", "amount"))
	}
	x, err := resource.Tenant(ctx).Transfer(ctx, &from, &to, amount, b.Description)
	if err != nil {
		return nil, resource.LimitErrorOf(err, "the other account cannot hold more")
	}
	return &transferOutput{transferOf(&x, exponent)}, nil
}

func (b *TransferBody) accounts(ctx context.Context) (from, to ledger.Wallet, err error) {
	equal := &resource.Problem{Code: apierr.EqualFromAndTo}
	if b.From == b.To {
		return from, to, equal
	}
	if from, err = payingAccount(ctx, b.From); err != nil {
		return from, to, err
	}
	if to, err = payingAccount(ctx, b.To); err != nil {
		return from, to, err
	}
	if from.ID == to.ID { // The same wallet's id in two spellings.
		return from, to, equal
	}
	if c := currencyOf(ctx, &from); c != currencyOf(ctx, &to) || b.CurrencyCode != "" && b.CurrencyCode != c {
		return from, to, &resource.Problem{Code: apierr.DifferentCurrencies}
	}
	return from, to, nil
}

func payingAccount(ctx context.Context, name string) (ledger.Wallet, error) {
	w, err := resource.Tenant(ctx).Account(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return w, &resource.Problem{Code: apierr.InvalidLedgerAccount}
	}
	return w, resource.ErrorOf(err)
}

func list(ctx context.Context, in *listInput) (*listOutput, error) {
	span, err := in.span(ctx)
	if err != nil {
		return nil, err
	}
	fetch := func(p store.Page) ([]store.Transfer, bool, error) {
		return resource.Tenant(ctx).Transfers(ctx, span, p)
	}
	if in.Account != "" {
		w, err := resource.Tenant(ctx).Account(ctx, in.Account)
		if err != nil {
			return nil, resource.ErrorOf(err)
		}
		fetch = func(p store.Page) ([]store.Transfer, bool, error) {
			return resource.Tenant(ctx).TransfersOf(ctx, w.ID, span, p)
		}
	}
	cursors := resource.CursorsFor(ctx, resource.Tenant(ctx).CursorKey(), "listTransfers", in.Account, in.StartDate, in.EndDate)
	all, end, err := resource.List(cursors, in.NextPage, in.Limit, func(x store.Transfer) string { return x.ListPosition() }, fetch)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	exponent := resource.Tenant(ctx).Settings().CurrencyExponent
	page := make([]Transfer, len(all))
	for i := range all {
		page[i] = transferOf(&all[i], exponent)
	}
	return &listOutput{TransferList{page, end}}, nil
}
