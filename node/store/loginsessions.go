package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Bounds of a login session.
const (
	LoginSessionMax     = 12 * time.Hour   // BOUND: how long a session lasts, whatever it does.
	LoginSessionIdle    = 30 * time.Minute // BOUND: how long a session lasts without a request.
	LoginSessionTouch   = time.Minute      // How old the recorded time of the last request may become before it is written again.
	LoginSessionsOfUser = 20               // BOUND: open sessions of a user; the oldest one ends for a new one.
)

// LoginSession is the state after a sign-in. Its record is found by the hash of the secret in the cookie; the secret itself is not
// stored, so whoever reads the state or a backup cannot use a session.
type LoginSession struct {
	ID            ids.UUID // Names the session in lists; it is no secret and gives no access.
	UserID        ids.UUID
	Epoch         uint64 // Of the user at the sign-in.
	CreatedMillis int64
	// SeenMillis is the time of a request, at most LoginSessionTouch before the last one. A write for every request would be a
	// command of the cluster for every click, so a session may end up to LoginSessionTouch early, and never late.
	SeenMillis int64
	Address    string // Of the client that signed in.
	Agent      string // Its User-Agent, shortened.
}

// LoginKey is the hash by which the record of a login session is found.
type LoginKey [sha256.Size]byte

func (k LoginKey) recordID() string { return hex.EncodeToString(k[:]) }

// openAt reports whether the session is open at a time, in Unix milliseconds.
func (s *LoginSession) openAt(now int64) bool {
	return now-s.CreatedMillis < LoginSessionMax.Milliseconds() && now-s.SeenMillis < LoginSessionIdle.Milliseconds()
}

func (p People) loginRecord(key LoginKey, s *LoginSession, expect uint64) command.Record {
	return command.Record{
		Kind: command.RecordLoginSession, Marketplace: p.t.marketplace, ID: key.recordID(), Value: encoded(s), Expect: expect,
		Class: s.UserID.String(), Max: LoginSessionsOfUser, ExpiresMillis: s.CreatedMillis + LoginSessionMax.Milliseconds(),
	}
}

func (p People) loginDeletion(id string) command.Record {
	return command.Record{Kind: command.RecordLoginSession, Marketplace: p.t.marketplace, ID: id, Expect: command.Any}
}

// SignIn stores a new login session of a user as it was read, and fills in id and times. The oldest session ends when the user has as
// many as it may have. ErrChanged when the user was changed or removed meanwhile.
func (p People) SignIn(ctx context.Context, u *ConsoleUser, key LoginKey, s LoginSession) (LoginSession, error) {
	s.ID, s.UserID, s.Epoch, s.CreatedMillis = p.t.mint(ctx, 0), u.ID, u.Epoch, p.t.now()
	s.SeenMillis = s.CreatedMillis
	err := p.t.retry(ctx, func() ([]command.Record, error) {
		now, err := p.User(u.ID)
		if err != nil || now.Epoch != u.Epoch {
			return nil, ErrChanged
		}
		open, err := p.stored(func(x *LoginSession) bool { return x.UserID == u.ID })
		if err != nil {
			return nil, err
		}
		records := []command.Record{}
		slices.SortFunc(open, func(a, b storedLogin) int { return int(a.SeenMillis - b.SeenMillis) })
		for i := range len(open) - LoginSessionsOfUser + 1 {
			records = append(records, p.loginDeletion(open[i].record))
		}
		return append(records, p.loginRecord(key, &s, 0)), nil
	}, command.TooMany)
	return s, err
}

// Login is who a request comes from: an open login session, its user, and the access that the user has at this moment.
type Login struct {
	Key     LoginKey
	Session LoginSession
	User    ConsoleUser
}

// Login returns the open login session with a key. ErrNotFound when it never existed, has ended, or its user was changed or removed.
// The access of a vendor role is left out while the user is not, or no longer, among the vendor's users.
func (p People) Login(key LoginKey) (Login, error) {
	return readOne(p.t, p.t.store.Groups.Meta(), func(b shard.Queries) (Login, bool) {
		r, found := b.Record(command.RecordLoginSession, p.t.marketplace, key.recordID())
		if !found {
			return Login{}, false
		}
		l := Login{Key: key, Session: decoded[LoginSession](r.Value)}
		u, found := consoleUsers.lookup(b, p.t, keyOfID(l.Session.UserID))
		if !found || u.item.Epoch != l.Session.Epoch || !l.Session.openAt(p.t.now()) {
			return Login{}, false
		}
		l.User = u.item
		l.User.Access = slices.DeleteFunc(l.User.Access, func(a ConsoleAccess) bool {
			return a.Role.OfVendor() && !hasVendor(b, p.t.store.Tenant(a.Marketplace), l.User.Email, a.Vendor)
		})
		return l, true
	})
}

// NeedsTouch reports whether the time of a request has to be recorded.
func (l *Login) NeedsTouch(now time.Time) bool {
	return now.UnixMilli()-l.Session.SeenMillis >= LoginSessionTouch.Milliseconds()
}

// Touch records the time of a request. A session that has ended meanwhile stays ended: ErrNotFound.
func (p People) Touch(ctx context.Context, key LoginKey) error {
	return p.t.retry(ctx, func() ([]command.Record, error) {
		r, err := readOne(p.t, p.t.store.Groups.Meta(), func(b shard.Queries) (shard.StoredRecord, bool) {
			return b.Record(command.RecordLoginSession, p.t.marketplace, key.recordID())
		})
		if err != nil {
			return nil, err
		}
		s := decoded[LoginSession](r.Value)
		s.SeenMillis = p.t.now()
		return []command.Record{p.loginRecord(key, &s, r.Version)}, nil
	}, command.NotFound)
}

// SignOut ends a login session; it is no error when there is none.
func (p People) SignOut(ctx context.Context, key LoginKey) error {
	return p.t.putRecords(ctx, []command.Record{p.loginDeletion(key.recordID())})
}

// ChangePassword sets the hash of a user's password. Every login session of the user ends, and the one with the key old is replaced by
// one with the key next, in the same command. REQUIRES: l was read with the key old.
func (p People) ChangePassword(ctx context.Context, l *Login, next LoginKey, hash string) (ConsoleUser, error) {
	return p.restart(ctx, l, next, func(u *ConsoleUser) { u.PasswordHash = hash })
}

// restart changes how a user signs in. Every login session of the user ends, and the one of l is replaced by one with the key next; all
// in one command, together with the further records. ErrChanged when the user was changed since l was read.
func (p People) restart(ctx context.Context, l *Login, next LoginKey, fn func(*ConsoleUser), more ...command.Record) (ConsoleUser, error) {
	return p.changeWith(ctx, l.User.ID, func(u *ConsoleUser) error {
		if u.Epoch != l.User.Epoch {
			return ErrChanged
		}
		fn(u)
		u.Epoch++
		return nil
	}, func(u *ConsoleUser) []command.Record {
		s := l.Session
		s.Epoch, s.SeenMillis = u.Epoch, p.t.now()
		return append(slices.Clip(more), p.loginDeletion(l.Key.recordID()), p.loginRecord(next, &s, 0))
	})
}

// storedLogin is a login session with the id of its record.
type storedLogin struct {
	LoginSession
	record string
}

// stored returns the login sessions for which keep returns true, ended ones too.
func (p People) stored(keep func(*LoginSession) bool) ([]storedLogin, error) {
	return read(p.t, p.t.store.Groups.Meta(), func(b shard.Queries) (all []storedLogin) {
		for after, more := "", true; more; {
			var records []shard.StoredRecord
			records, more = b.Records(command.RecordLoginSession, p.t.marketplace, after, scanStep)
			for i := range records {
				after = records[i].ID
				if s := decoded[LoginSession](records[i].Value); keep(&s) {
					all = append(all, storedLogin{s, after})
				}
			}
		}
		return all
	})
}

// LoginSessions lists the open sessions of a user, the last used first.
func (p People) LoginSessions(u *ConsoleUser) ([]LoginSession, error) {
	now := p.t.now()
	found, err := p.stored(func(s *LoginSession) bool { return s.UserID == u.ID && s.Epoch == u.Epoch && s.openAt(now) })
	slices.SortFunc(found, func(a, b storedLogin) int { return int(b.SeenMillis - a.SeenMillis) })
	all := make([]LoginSession, len(found))
	for i := range found {
		all[i] = found[i].LoginSession
	}
	return all, err
}

// pruneLogins is how many ended sessions one command removes.
const pruneLogins = 500

// PruneLogins removes the records of ended login sessions.
func (p People) PruneLogins(ctx context.Context) (removed int, err error) {
	now, epochs := p.t.now(), map[ids.UUID]uint64{}
	ended, err := p.stored(func(s *LoginSession) bool { return !s.openAt(now) })
	if err != nil {
		return 0, err
	}
	open, err := p.stored(func(s *LoginSession) bool { return s.openAt(now) })
	if err != nil {
		return 0, err
	}
	for _, s := range open {
		epoch, known := epochs[s.UserID]
		if !known {
			u, err := p.User(s.UserID)
			if err != nil && !errors.Is(err, ErrNotFound) {
				return 0, err
			}
			epoch = u.Epoch
			epochs[s.UserID] = epoch
		}
		if s.Epoch != epoch {
			ended = append(ended, s)
		}
	}
	for some := range slices.Chunk(ended, pruneLogins) {
		records := make([]command.Record, len(some))
		for i := range some {
			records[i] = p.loginDeletion(some[i].record)
		}
		if err := p.t.putRecords(ctx, records); err != nil {
			return removed, err
		}
		removed += len(some)
	}
	return removed, nil
}
