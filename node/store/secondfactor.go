package store

import (
	"context"
	"errors"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// SecondFactor is what a console user has to present beside the password: codes of an app, or recovery codes.
//
// It is a record of its own and not a part of ConsoleUser, because a node of an older version that rewrites a user would drop it. The
// record lies among the indexes of users, as the count of admins does: a kind of its own would be a new feature level.
type SecondFactor struct {
	UserID ids.UUID
	Secret []byte // That the app and the node share; node/login makes the codes from it.
	// ConfirmedMillis is when the user proved to have the secret. While it is 0, nobody is asked for a code.
	ConfirmedMillis int64
	// LastStep is the period of the last accepted code. INVARIANT: it grows only, so that no code is accepted twice.
	LastStep int64
	Recovery []string // The hashes of the recovery codes that were not used yet.
}

// factorKey is the id of the record of a user's second factor.
func factorKey(user ids.UUID) string { return "factor-" + user.String() }

func (p People) factorRecord(f *SecondFactor, expect uint64) command.Record {
	return command.Record{
		Kind: command.RecordConsoleUserIndex, Marketplace: p.t.marketplace, ID: factorKey(f.UserID), Value: encoded(f), Expect: expect,
	}
}

func (p People) factorDeletion(user ids.UUID, expect uint64) command.Record {
	return command.Record{Kind: command.RecordConsoleUserIndex, Marketplace: p.t.marketplace, ID: factorKey(user), Expect: expect}
}

// factor returns the second factor of a user and the version of its record. ErrNotFound without one.
func (p People) factor(user ids.UUID) (SecondFactor, uint64, error) {
	r, err := readOne(p.t, p.t.store.Groups.Meta(), func(b shard.Queries) (shard.StoredRecord, bool) {
		return b.Record(command.RecordConsoleUserIndex, p.t.marketplace, factorKey(user))
	})
	if err != nil {
		return SecondFactor{}, 0, err
	}
	return decoded[SecondFactor](r.Value), r.Version, nil
}

// SecondFactor returns the confirmed second factor of a user. ErrNotFound without one.
func (p People) SecondFactor(user ids.UUID) (SecondFactor, error) {
	f, _, err := p.factor(user)
	if err == nil && f.ConfirmedMillis == 0 {
		return SecondFactor{}, ErrNotFound
	}
	return f, err
}

// BeginSecondFactor stores a secret that the user has still to confirm; an earlier one that was not confirmed is replaced.
// ErrAlreadyExists when the user has a second factor.
func (p People) BeginSecondFactor(ctx context.Context, user ids.UUID, secret []byte) error {
	return p.t.retry(ctx, func() ([]command.Record, error) {
		f, version, err := p.factor(user)
		switch {
		case err != nil && !errors.Is(err, ErrNotFound):
			return nil, err
		case f.ConfirmedMillis != 0:
			return nil, ErrAlreadyExists
		}
		return []command.Record{p.factorRecord(&SecondFactor{UserID: user, Secret: secret}, version)}, nil
	})
}

// ConfirmSecondFactor turns the second factor on that BeginSecondFactor stored. check accepts the code that the user sent: it returns
// the code's period, or an error, which is returned. recovery are the hashes of the recovery codes. Every login session of the user
// ends, and the one with the key of l is replaced by one with the key next, in the same command. ErrNotFound when nothing was begun,
// ErrAlreadyExists when the user has a second factor.
func (p People) ConfirmSecondFactor(
	ctx context.Context, l *Login, next LoginKey, recovery []string, check func(*SecondFactor) (step int64, err error),
) error {
	f, version, err := p.factor(l.User.ID)
	if err == nil && f.ConfirmedMillis != 0 {
		err = ErrAlreadyExists
	}
	if err == nil {
		f.LastStep, err = check(&f)
	}
	if err != nil {
		return err
	}
	f.ConfirmedMillis, f.Recovery = p.t.now(), recovery
	_, err = p.restart(ctx, l, next, func(*ConsoleUser) {}, p.factorRecord(&f, version))
	return err
}

// ChangeSecondFactor rewrites a confirmed second factor by fn, and returns an error of fn without writing. fn may run several times.
// Of two changes at the same moment the second sees what the first has written. ErrNotFound without a second factor.
func (p People) ChangeSecondFactor(ctx context.Context, user ids.UUID, fn func(*SecondFactor) error) error {
	return p.t.retry(ctx, func() ([]command.Record, error) {
		f, version, err := p.factor(user)
		if err == nil && f.ConfirmedMillis == 0 {
			err = ErrNotFound
		}
		if err == nil {
			err = fn(&f)
		}
		if err != nil {
			return nil, err
		}
		return []command.Record{p.factorRecord(&f, version)}, nil
	})
}

// RemoveSecondFactor turns the second factor of a user off. ErrNotFound without one.
func (p People) RemoveSecondFactor(ctx context.Context, user ids.UUID) error {
	return p.t.retry(ctx, func() ([]command.Record, error) {
		if _, err := p.SecondFactor(user); err != nil {
			return nil, err
		}
		return []command.Record{p.factorDeletion(user, command.Any)}, nil
	}, command.NotFound)
}
