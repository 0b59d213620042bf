package ledger

import (
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

// Transfer is money that moved, or moves, from one account to another. Both groups of a transfer between two groups have
// one: the sender's is InTransit until the other one has decided.
type Transfer struct {
	ID          ids.UUID
	Marketplace uint16
	From, To    ids.UUID
	Amount      money.Micros
	Millis      int64 // When it was asked for, on the state clock of the sender's group.
	State       TransferState
	Since       int64 // When it came to its state, on the state clock of the group that stores it.
	Description string
}

// TransferState is how far a transfer is. Append only.
type TransferState uint8

// The states. Those of the sender's group are Completed, InTransit and Returned; those of the other one Received and Refused.
const (
	Completed TransferState = iota + 1
	InTransit
	Returned
	Received
	Refused
	TransferStates = int(Refused) + 1
)

// Same reports whether a step of a transfer is one of t.
func (t *Transfer) Same(marketplace uint16, from, to ids.UUID, amount money.Micros) bool {
	return t.Marketplace == marketplace && t.From == from && t.To == to && t.Amount == amount
}
