package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/gavel-ads/gavel/node/background"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// propose commits a management command, after the audit entry of its request, and turns a refusal into an error.
func (t Tenant) propose(ctx context.Context, g ids.Group, cmd []byte) (command.Result, error) {
	raw, err := t.commitAudited(ctx, g, cmd)
	return result(g, raw, err)
}

// putRecordsOnce is propose of records, which may carry the audit entry themselves: nothing precedes them.
func (t Tenant) putRecordsOnce(ctx context.Context, records []command.Record) (command.Result, error) {
	g := t.store.Groups.Meta()
	raw, err := t.send(ctx, g, command.AppendPutRecords(nil, t.now(), &command.PutRecords{Records: records}))
	return result(g, raw, err)
}

func result(g ids.Group, raw []byte, err error) (command.Result, error) {
	if err != nil {
		return command.Result{}, err
	}
	r, err := command.ReadResult(raw)
	if err != nil {
		return command.Result{}, fmt.Errorf("answer of group %d: %w", g, err)
	}
	return r, refusal(r)
}

// send commits a management command, at most once.
func (t Tenant) send(ctx context.Context, g ids.Group, cmd []byte) ([]byte, error) {
	cmd, err := t.attempt(g, cmd)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	resume := background.Waiting(ctx)
	raw, index, err := t.store.Groups.ProposeAt(ctx, g, cmd)
	resume()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	t.session.note(g, index)
	return raw, nil
}

// attempt makes a command one that can be told from its repeats, unless a node of an older version keeps the group from it.
func (t Tenant) attempt(g ids.Group, cmd []byte) ([]byte, error) {
	var a command.Attempt
	var may bool
	err := t.store.Groups.Read(g, func(r shard.Reader) error {
		a.Seen, may = shard.Books{R: r}.Turn()
		return nil
	})
	if err != nil || !may {
		return cmd, err
	}
	_, _ = rand.Read(a.ID[:]) // Never fails: it ends the process instead.
	return command.AppendAttempt(cmd, a), nil
}

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
		return ErrChanged
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
	case command.Expired:
		return fmt.Errorf("%w: the command was on its way for so long that nobody knows whether it was carried out", ErrUnavailable)
	case command.Invalid:
	}
	return errors.New("the state machine could not read a command of this node")
}

func (t Tenant) now() int64 { return t.store.Now().UnixMilli() }

// groupOf is the group that holds everything of a vendor: wallets, campaigns, bids and charges.
func (t Tenant) groupOf(vendorID string) ids.Group {
	return t.store.Groups.GroupOf(ids.ShardOf(ids.AccountOf(t.marketplace, vendorID)))
}
