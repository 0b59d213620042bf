package command

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

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

// AppendOpenAccount appends an OpenAccount.
func AppendOpenAccount(dst []byte, nowMillis int64, a *OpenAccount) []byte {
	dst, at := begin(dst, OpOpenAccount, nowMillis, 0)
	dst = append(append(dst, a.Request[:]...), a.Account[:]...)
	dst = binary.LittleEndian.AppendUint16(dst, a.Marketplace)
	dst = AppendText(dst, a.VendorID)
	dst = AppendText(dst, a.Name)
	return seal(AppendText(dst, a.Currency), at)
}

// ReadOpenAccount reads an OpenAccount.
func ReadOpenAccount(c *Command) (a OpenAccount, err error) {
	d := NewDecoder(c.body)
	a = OpenAccount{
		Request: d.UUID(), Account: d.UUID(), Marketplace: d.U16(), VendorID: d.Text(), Name: d.Text(), Currency: d.Text(),
	}
	return a, d.Err()
}

// TransferStep is what a Transfer does in the group in which it is applied.
type TransferStep uint8

// The steps. Append only. A transfer between accounts of one group is one command, TransferWithin. A transfer between
// two groups is three commands: TransferSend takes the money from the account in the sender's group. TransferReceive
// adds it in the receiving group or refuses it; that decision is final. TransferComplete or TransferReturn records it
// in the sender's group.
const (
	TransferWithin TransferStep = iota
	TransferSend
	TransferReceive
	TransferComplete
	TransferReturn
	transferSteps
)

// Transfer is a step that moves money from one account to another. All steps of a transfer carry the same id, accounts
// and amount. A repeated step changes nothing.
type Transfer struct {
	ID          ids.UUID
	Step        TransferStep
	Marketplace uint16
	From, To    ids.UUID
	Amount      money.Micros // More than 0.
	Millis      int64        // Only for TransferReceive: the time at which the money was sent.
	Description string
}

// AppendTransfer appends a Transfer.
func AppendTransfer(dst []byte, nowMillis int64, t *Transfer) []byte {
	dst, at := begin(dst, OpTransfer, nowMillis, 0)
	dst = append(append(dst, t.ID[:]...), byte(t.Step))
	dst = binary.LittleEndian.AppendUint16(dst, t.Marketplace)
	dst = append(append(dst, t.From[:]...), t.To[:]...)
	dst = AppendMillis(AppendMoney(dst, t.Amount), t.Millis)
	return seal(AppendText(dst, t.Description), at)
}

// ReadTransfer reads a Transfer.
func ReadTransfer(c *Command) (t Transfer, err error) {
	d := NewDecoder(c.body)
	t = Transfer{
		ID: d.UUID(), Step: TransferStep(d.Enum(uint8(transferSteps))), Marketplace: d.U16(), From: d.UUID(), To: d.UUID(),
		Amount: d.Price(), Millis: d.I64(), Description: d.Text(),
	}
	if t.Amount == 0 || t.ID.IsZero() || t.From == t.To {
		d.Fail()
	}
	return t, d.Err()
}

// ForgetEmptied deletes the reminder that a wallet was emptied, once the notice to the vendor is stored.
type ForgetEmptied struct {
	Marketplace uint16
	Wallet      ids.UUID
	Number      uint32 // Counts how often the wallet was emptied, from 1.
}

// AppendForgetEmptied appends a ForgetEmptied.
func AppendForgetEmptied(dst []byte, nowMillis int64, f *ForgetEmptied) []byte {
	dst, at := begin(dst, OpForgetEmptied, nowMillis, 0)
	dst = binary.LittleEndian.AppendUint16(dst, f.Marketplace)
	dst = append(dst, f.Wallet[:]...)
	return seal(binary.LittleEndian.AppendUint32(dst, f.Number), at)
}

// ReadForgetEmptied reads a ForgetEmptied.
func ReadForgetEmptied(c *Command) (f ForgetEmptied, err error) {
	d := NewDecoder(c.body)
	f = ForgetEmptied{Marketplace: d.U16(), Wallet: d.UUID(), Number: d.U32()}
	return f, d.Err()
}
