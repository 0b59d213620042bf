package command

import (
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

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

var transfers = newTable("transfer",
	fixed("id", uuid, func(t *Transfer) *ids.UUID { return &t.ID }),
	fixed("step", enum[TransferStep](int(transferSteps)), func(t *Transfer) *TransferStep { return &t.Step }),
	fixed("marketplace", u16[uint16](), func(t *Transfer) *uint16 { return &t.Marketplace }),
	fixed("from", uuid, func(t *Transfer) *ids.UUID { return &t.From }),
	fixed("to", uuid, func(t *Transfer) *ids.UUID { return &t.To }),
	fixed("amount", price, func(t *Transfer) *money.Micros { return &t.Amount }),
	fixed("sent", millis, func(t *Transfer) *int64 { return &t.Millis }),
	fixed("description", text, func(t *Transfer) *string { return &t.Description }),
).checked(func(t *Transfer) bool { return t.Amount != 0 && !t.ID.IsZero() && t.From != t.To })

// AppendTransfer appends a Transfer.
func AppendTransfer(dst []byte, nowMillis int64, t *Transfer) []byte {
	return appendCommand(dst, OpTransfer, nowMillis, transfers, t)
}

// ReadTransfer reads a Transfer.
func ReadTransfer(c *Command) (Transfer, error) { return readCommand(c, transfers) }
