package ledger

import (
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

// Transfer is a movement of money from one account to another. For a transfer between two groups each group stores one:
// the sender's is InTransit until the decision of the receiving group is recorded.
type Transfer struct {
	ID          ids.UUID
	Marketplace uint16
	From, To    ids.UUID
	Amount      money.Micros
	Millis      int64 // When it was requested, on the state clock of the sender's group.
	State       TransferState
	Since       int64 // When it reached State, on the state clock of the group that stores it.
	Description string
}

// TransferState is the progress of a transfer. Append only.
type TransferState uint8

// The states. Completed, InTransit and Returned occur in the sender's group, Received and Refused in the receiving
// group.
const (
	Completed TransferState = iota + 1
	InTransit
	Returned
	Received
	Refused
	TransferStates = int(Refused) + 1
)

// Same reports whether a step with these accounts and this amount belongs to t.
func (t *Transfer) Same(marketplace uint16, from, to ids.UUID, amount money.Micros) bool {
	return t.Marketplace == marketplace && t.From == from && t.To == to && t.Amount == amount
}
