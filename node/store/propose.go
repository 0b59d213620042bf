package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// propose commits a management command and turns a refusal into an error.
func (t Tenant) propose(ctx context.Context, g ids.Group, cmd []byte) (command.Result, error) {
	raw, index, err := t.store.Groups.ProposeAt(ctx, g, cmd)
	if err != nil {
		return command.Result{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	t.session.note(g, index)
	r, err := command.ReadResult(raw)
	if err != nil {
		return command.Result{}, fmt.Errorf("answer of group %d: %w", g, err)
	}
	return r, refusal(r)
}

// errConflict is a record whose version is not the one that was read.
var errConflict = fmt.Errorf("%w: the resource changed meanwhile", ErrUnavailable)

// refusal maps what the state machine answered to an error of this room.
func refusal(r command.Result) error {
	switch r.Refusal {
	case command.Done:
		return nil
	case command.NotFound:
		return &Refused{Index: r.Index, Err: ErrNotFound}
	case command.AlreadyExists:
		return &Refused{Index: r.Index, Err: ErrAlreadyExists}
	case command.Conflict:
		return errConflict
	case command.WrongState:
		return &Refused{Index: r.Index, Err: ErrWrongState}
	case command.InsufficientBalance:
		return ErrInsufficientBalance
	case command.TooMany:
		return &Refused{Index: r.Index, Err: ErrTooMany}
	case command.Cycle:
		return &Refused{Index: r.Index, Err: ErrCycle}
	case command.TooEarly:
		return fmt.Errorf("%w: a node of an older version still keeps the cluster from what the command needs", ErrUnavailable)
	case command.Invalid:
	}
	return errors.New("the state machine could not read a command of this node")
}

func (t Tenant) now() int64 { return t.store.Now().UnixMilli() }

// groupOf is the group that holds everything of a vendor: wallets, campaigns, bids and charges.
func (t Tenant) groupOf(vendorID string) ids.Group {
	return t.store.Groups.GroupOf(ids.ShardOf(ids.AccountOf(t.marketplace, vendorID)))
}
