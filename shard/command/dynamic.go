package command

import (
	"github.com/gavel-ads/gavel/shard/ids"
)

// Users of a dynamic segment follow from what they did (package behavior). What a user did is stored in several groups,
// and the segments in the meta group. So each group marks the users who did something (WatchUsers), a node evaluates
// them from what all groups have stored, DecideMembers stores the results in the meta group, and ForgetMarks then deletes
// the marks. Every step may be repeated, so that any node can finish what another began.

// WatchUsers says which actions mark their users in a group. It is refused as Conflict when others than Was are watched, so
// that a command that comes late does not undo a newer one.
type WatchUsers struct {
	Marketplace uint16
	Was         uint8 // A bit for each kind of action, 1 << event.Kind. 0: none.
	Kinds       uint8 // Likewise.
}

// UserMark says that a user is to be evaluated: the user did something that a group committed at a
// time of its state clock.
type UserMark struct {
	Millis int64
	User   uint64
}

// ForgetMarks deletes marks of users who were evaluated. Unknown marks are ignored.
type ForgetMarks struct {
	Marketplace uint16
	Marks       []UserMark // At most MarksMax.
}

// DefineSegment makes a segment dynamic, or replaces its definition: then all its users leave it, and are evaluated again.
// To repeat the same definition changes nothing. Drop ends that the segment is dynamic, and its users leave it.
type DefineSegment struct {
	Marketplace uint16
	Segment     string
	Definition  [16]byte // A hash of the definition, which the engine does not read.
	Drop        bool
}

// DecideMembers says which users belong to a dynamic segment as of a time, up to which the clocks of all groups had passed.
// It is refused as NotFound when the segment was defined anew meanwhile, and as Conflict when a later decision is stored.
type DecideMembers struct {
	Marketplace uint16
	Segment     string
	Number      uint64 // Of the definition.
	AsOfMillis  int64
	Members     []Membership // At most MembersMax; their users ascend.
	Backfill    Backfill     // How far the users from before the definition have been evaluated.
}

// Membership is the result of the evaluation of a user.
type Membership struct {
	User          uint64
	Member        bool
	ChangesMillis int64 // When the result changes if nothing more happens; 0 for never.
}

// Backfill says how far the users have been evaluated who did something before a segment was defined: the days of a
// group, one group after the other.
type Backfill struct {
	Done  bool
	Group ids.Group // The group that is read.
	Day   uint32    // Its day that is read.
	User  uint64    // The last user of the day who was evaluated; 0 for none.
}

// Bounds of the commands. BOUND: both take some 17 bytes for each user, and a few reads of the state.
const (
	MarksMax   = 1_024
	MembersMax = 4_096
)

var (
	watchUsers = newTable("watch users",
		fixed("marketplace", u16[uint16](), func(x *WatchUsers) *uint16 { return &x.Marketplace }),
		fixed("was", enum[uint8](8), func(x *WatchUsers) *uint8 { return &x.Was }),
		fixed("kinds", enum[uint8](8), func(x *WatchUsers) *uint8 { return &x.Kinds }),
	)
	userMarks = newTable("user mark",
		fixed("millis", whole, func(x *UserMark) *int64 { return &x.Millis }),
		fixed("user", u64[uint64](), func(x *UserMark) *uint64 { return &x.User }),
	)
	forgetMarks = newTable("forget marks",
		fixed("marketplace", u16[uint16](), func(x *ForgetMarks) *uint16 { return &x.Marketplace }),
		fixed("marks", list(userMarks, MarksMax), func(x *ForgetMarks) *[]UserMark { return &x.Marks }),
	)
	defineSegments = newTable("define segment",
		fixed("marketplace", u16[uint16](), func(x *DefineSegment) *uint16 { return &x.Marketplace }),
		fixed("segment", text, func(x *DefineSegment) *string { return &x.Segment }),
		fixed("definition", key16, func(x *DefineSegment) *[16]byte { return &x.Definition }),
		fixed("drop", boolean, func(x *DefineSegment) *bool { return &x.Drop }),
	)
	memberships = newTable("membership",
		fixed("user", u64[uint64](), func(x *Membership) *uint64 { return &x.User }),
		optional(0, "member", boolean, func(x *Membership) *bool { return &x.Member }),
		optional(1, "changes", whole, func(x *Membership) *int64 { return &x.ChangesMillis }),
	)
	backfills = newTable("backfill",
		fixed("done", boolean, func(x *Backfill) *bool { return &x.Done }),
		fixed("group", u16[ids.Group](), func(x *Backfill) *ids.Group { return &x.Group }),
		fixed("day", u32[uint32](), func(x *Backfill) *uint32 { return &x.Day }),
		fixed("user", u64[uint64](), func(x *Backfill) *uint64 { return &x.User }),
	)
	decideMembers = newTable("decide members",
		fixed("marketplace", u16[uint16](), func(x *DecideMembers) *uint16 { return &x.Marketplace }),
		fixed("segment", text, func(x *DecideMembers) *string { return &x.Segment }),
		fixed("number", u64[uint64](), func(x *DecideMembers) *uint64 { return &x.Number }),
		fixed("as of", whole, func(x *DecideMembers) *int64 { return &x.AsOfMillis }),
		fixed("backfill", value(backfills), func(x *DecideMembers) *Backfill { return &x.Backfill }),
		fixed("members", list(memberships, MembersMax), func(x *DecideMembers) *[]Membership { return &x.Members }),
	).checked(usersAscend)
)

func usersAscend(x *DecideMembers) bool {
	for i := range x.Members {
		if i > 0 && x.Members[i].User <= x.Members[i-1].User {
			return false
		}
	}
	return true
}

// AppendWatchUsers appends a WatchUsers.
func AppendWatchUsers(dst []byte, nowMillis int64, x *WatchUsers) []byte {
	return appendCommand(dst, OpWatchUsers, nowMillis, watchUsers, x)
}

// ReadWatchUsers reads a WatchUsers.
func ReadWatchUsers(c *Command) (WatchUsers, error) { return readCommand(c, watchUsers) }

// AppendForgetMarks appends a ForgetMarks.
func AppendForgetMarks(dst []byte, nowMillis int64, x *ForgetMarks) []byte {
	return appendCommand(dst, OpForgetMarks, nowMillis, forgetMarks, x)
}

// ReadForgetMarks reads a ForgetMarks.
func ReadForgetMarks(c *Command) (ForgetMarks, error) { return readCommand(c, forgetMarks) }

// AppendDefineSegment appends a DefineSegment.
func AppendDefineSegment(dst []byte, nowMillis int64, x *DefineSegment) []byte {
	return appendCommand(dst, OpDefineSegment, nowMillis, defineSegments, x)
}

// ReadDefineSegment reads a DefineSegment.
func ReadDefineSegment(c *Command) (DefineSegment, error) { return readCommand(c, defineSegments) }

// AppendDecideMembers appends a DecideMembers.
func AppendDecideMembers(dst []byte, nowMillis int64, x *DecideMembers) []byte {
	return appendCommand(dst, OpDecideMembers, nowMillis, decideMembers, x)
}

// ReadDecideMembers reads a DecideMembers.
func ReadDecideMembers(c *Command) (DecideMembers, error) { return readCommand(c, decideMembers) }

// AppendMembership appends a membership as the meta group stores it.
func AppendMembership(dst []byte, x *Membership) []byte { return memberships.append(dst, x) }

// Membership reads what AppendMembership wrote into x. REQUIRES: *x is the zero value.
func (d *Decoder) Membership(x *Membership) { memberships.read(d, x) }

// AppendBackfill appends a back-fill as the meta group stores it.
func AppendBackfill(dst []byte, x *Backfill) []byte { return backfills.append(dst, x) }

// Backfill reads what AppendBackfill wrote into x. REQUIRES: *x is the zero value.
func (d *Decoder) Backfill(x *Backfill) { backfills.read(d, x) }
