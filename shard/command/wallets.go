package command

import (
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

// AdjustWallet adds an amount to a vendor's wallet, and creates the default wallet if it does not exist.
type AdjustWallet struct {
	Request     ids.UUID // It is applied once per request id, which is remembered for at least 24 hours.
	Marketplace uint16
	VendorID    string
	Wallet      ids.UUID     // Zero: the default wallet.
	Amount      money.Micros // Not 0.
	Strict      bool         // Refuses a negative balance as InsufficientBalance.
	Description string
	// Others are further wallets of the vendor, for a strict withdrawal: what the wallet does not have is taken from the
	// others, in their order. At most OtherWalletsMax.
	Others []ids.UUID
}

// OtherWalletsMax bounds AdjustWallet.Others. BOUND: more than a vendor can have.
const OtherWalletsMax = 16

var walletIDs = newTable("wallet id", fixed("id", uuid, func(id *ids.UUID) *ids.UUID { return id }))

var adjustWallets = newTable("adjust wallet",
	fixed("request", uuid, func(a *AdjustWallet) *ids.UUID { return &a.Request }),
	fixed("marketplace", u16[uint16](), func(a *AdjustWallet) *uint16 { return &a.Marketplace }),
	fixed("vendor", text, func(a *AdjustWallet) *string { return &a.VendorID }),
	fixed("wallet", uuid, func(a *AdjustWallet) *ids.UUID { return &a.Wallet }),
	fixed("amount", signed, func(a *AdjustWallet) *money.Micros { return &a.Amount }),
	fixed("strict", boolean, func(a *AdjustWallet) *bool { return &a.Strict }),
	fixed("description", text, func(a *AdjustWallet) *string { return &a.Description }),
	optional(0, "others", list(walletIDs, OtherWalletsMax), func(a *AdjustWallet) *[]ids.UUID { return &a.Others }).since(LevelReports),
).checked(func(a *AdjustWallet) bool { return a.Amount != 0 && (len(a.Others) == 0 || a.Strict && a.Amount < 0) })

// AppendAdjustWallet appends an AdjustWallet.
func AppendAdjustWallet(dst []byte, nowMillis int64, a *AdjustWallet) []byte {
	return appendCommand(dst, OpAdjustWallet, nowMillis, adjustWallets, a)
}

// ReadAdjustWallet reads an AdjustWallet.
func ReadAdjustWallet(c *Command) (AdjustWallet, error) { return readCommand(c, adjustWallets) }

// OpenAccount opens an account. With a vendor it is a wallet, whose id must be in the vendor's shard. Without a vendor
// it is a ledger account of the marketplace, whose id follows from its name (ids.LedgerAccountOf). A repeat changes
// nothing.
type OpenAccount struct {
	Request     ids.UUID // Distinguishes a repeat from a second account of the same name; remembered for at least 24 hours.
	Account     ids.UUID
	Marketplace uint16
	VendorID    string
	Name        string
	Currency    string // Of a ledger account. A wallet has the currency of the marketplace.
}

var openAccounts = newTable("open account",
	fixed("request", uuid, func(a *OpenAccount) *ids.UUID { return &a.Request }),
	fixed("account", uuid, func(a *OpenAccount) *ids.UUID { return &a.Account }),
	fixed("marketplace", u16[uint16](), func(a *OpenAccount) *uint16 { return &a.Marketplace }),
	fixed("vendor", text, func(a *OpenAccount) *string { return &a.VendorID }),
	fixed("name", text, func(a *OpenAccount) *string { return &a.Name }),
	fixed("currency", text, func(a *OpenAccount) *string { return &a.Currency }),
)

// AppendOpenAccount appends an OpenAccount.
func AppendOpenAccount(dst []byte, nowMillis int64, a *OpenAccount) []byte {
	return appendCommand(dst, OpOpenAccount, nowMillis, openAccounts, a)
}

// ReadOpenAccount reads an OpenAccount.
func ReadOpenAccount(c *Command) (OpenAccount, error) { return readCommand(c, openAccounts) }

// ForgetEmptied deletes the reminder that a wallet was emptied, once the notice to the vendor is stored.
type ForgetEmptied struct {
	Marketplace uint16
	Wallet      ids.UUID
	Number      uint32 // Counts how often the wallet was emptied, from 1.
}

var forgetEmptied = newTable("forget emptied",
	fixed("marketplace", u16[uint16](), func(f *ForgetEmptied) *uint16 { return &f.Marketplace }),
	fixed("wallet", uuid, func(f *ForgetEmptied) *ids.UUID { return &f.Wallet }),
	fixed("number", u32[uint32](), func(f *ForgetEmptied) *uint32 { return &f.Number }),
)

// AppendForgetEmptied appends a ForgetEmptied.
func AppendForgetEmptied(dst []byte, nowMillis int64, f *ForgetEmptied) []byte {
	return appendCommand(dst, OpForgetEmptied, nowMillis, forgetEmptied, f)
}

// ReadForgetEmptied reads a ForgetEmptied.
func ReadForgetEmptied(c *Command) (ForgetEmptied, error) { return readCommand(c, forgetEmptied) }
