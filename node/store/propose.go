package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// propose commits a management command with the audit entry of its request, and returns a refusal as an error.
func (t Tenant) propose(ctx context.Context, g ids.Group, cmd []byte) (command.Result, error) {
	raw, err := t.commitAudited(ctx, g, cmd)
	return result(g, raw, err)
}

// putRecordsOnce proposes records without an audit entry beside them.
func (t Tenant) putRecordsOnce(ctx context.Context, records []command.Record) (command.Result, error) {
	return t.putRecordsIn(ctx, t.store.Groups.Meta(), records)
}

// putRecordsIn is putRecordsOnce for a group. Groups other than the meta group store only entries of the audit log.
func (t Tenant) putRecordsIn(ctx context.Context, g ids.Group, records []command.Record) (command.Result, error) {
	raw, err := t.proposeOnce(ctx, g, command.AppendPutRecords(nil, t.now(), &command.PutRecords{Records: records}))
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

// proposeOnce commits a management command so that it is carried out at most once, however often it is delivered.
func (t Tenant) proposeOnce(ctx context.Context, g ids.Group, cmd []byte) ([]byte, error) {
	cmd, err := t.addAttempt(g, cmd)
	if err != nil {
		return nil, err
	}
	resume := limits.Waiting(ctx)
	raw, index, err := t.store.Groups.ProposeAt(ctx, g, cmd)
	resume()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	t.session.recordWrite(g, index)
	return raw, nil
}

// addAttempt adds the attempt's id to a command, so that the state machine can tell the command from its repeats.
func (t Tenant) addAttempt(g ids.Group, cmd []byte) ([]byte, error) {
	t.session = nil // A turn that this node knows is late enough.
	var a command.Attempt
	var err error
	if a.Seen, err = readManaged(t, g, shard.Queries.Turn); err != nil {
		return nil, err
	}
	_, _ = rand.Read(a.ID[:]) // crypto/rand never returns an error.
	return command.AppendAttempt(cmd, a), nil
}

// refusal maps what the state machine answered to an error of this package.
func refusal(r command.Result) error {
	switch r.Refusal {
	case command.Done:
		return nil
	case command.NotFound:
		return &ItemError{Index: r.Index, Err: ErrNotFound}
	case command.AlreadyExists:
		return &ItemError{Index: r.Index, Err: ErrAlreadyExists}
	case command.Conflict:
		return ErrChanged
	case command.WrongState:
		return &ItemError{Index: r.Index, Err: ErrWrongState}
	case command.InsufficientBalance:
		return ErrInsufficientBalance
	case command.TooMany:
		return &ItemError{Index: r.Index, Err: ErrTooMany}
	case command.VendorDeleted:
		return &ItemError{Index: r.Index, Err: ErrVendorDeleted}
	case command.NeedsTotal:
		return &ItemError{Index: r.Index, Err: ErrNeedsTotal}
	case command.ExceedsCharge:
		return ErrExceedsCharge
	case command.Cycle:
		return &ItemError{Index: r.Index, Err: ErrCycle}
	case command.MarketplaceClosed:
		return ErrClosed
	case command.TooEarly:
		return fmt.Errorf("%w: a node of an older version is still in the cluster, and it does not know this command", ErrUnavailable)
	case command.Expired:
		return fmt.Errorf("%w: the command was under way for so long that its outcome is unknown", ErrUnavailable)
	case command.Invalid:
	}
	return errors.New("the state machine could not read a command of this node")
}

func (t Tenant) now() int64 { return t.store.Now().UnixMilli() }

// NowMillis returns the time by which this node dates what it writes, in Unix milliseconds.
func (t Tenant) NowMillis() int64 { return t.now() }

// groupOf is the group that holds everything of a vendor: wallets, campaigns, bids and charges.
func (t Tenant) groupOf(vendorID string) ids.Group {
	return t.store.Groups.GroupOf(ids.ShardOf(ids.AccountOf(t.marketplace, vendorID)))
}
