package command

// Users are stored as keyed hashes of their ids. A link says that two ids are of one person, for example a visitor and
// the customer as whom he logs in: touches of the first are credited with purchases of the second. Links lie in the group
// of the second (shard.UserShard), because a purchase is what looks for them.

// LinkUsers links users. To do it again on the same day changes nothing.
type LinkUsers struct {
	Marketplace uint16
	From        uint64 // Its touches are credited with purchases of To.
	To          uint64 // Neither is 0, and they are different.
}

// ForgetUser erases what a group has stored of a user: touches, links, and the hash in purchases that are to be credited.
// In the meta group the user leaves the segment that the command names: the proposer finds the segments, because Apply
// would have to read all users of all of them. What was counted and charged stays.
type ForgetUser struct {
	Marketplace uint16
	User        uint64 // Not 0.
	Segment     string // Empty for none. BOUND: one for each command, because a segment of a million users takes 8 MB in one Apply.
}

var (
	linkUsers = newTable("link users",
		fixed("marketplace", u16[uint16](), func(x *LinkUsers) *uint16 { return &x.Marketplace }),
		fixed("from", u64[uint64](), func(x *LinkUsers) *uint64 { return &x.From }),
		fixed("to", u64[uint64](), func(x *LinkUsers) *uint64 { return &x.To }),
	)
	forgetUsers = newTable("forget user",
		fixed("marketplace", u16[uint16](), func(x *ForgetUser) *uint16 { return &x.Marketplace }),
		fixed("user", u64[uint64](), func(x *ForgetUser) *uint64 { return &x.User }),
		fixed("segment", text, func(x *ForgetUser) *string { return &x.Segment }),
	)
)

// AppendLinkUsers appends a LinkUsers.
func AppendLinkUsers(dst []byte, nowMillis int64, x *LinkUsers) []byte {
	return appendCommand(dst, OpLinkUsers, nowMillis, linkUsers, x)
}

// ReadLinkUsers reads a LinkUsers.
func ReadLinkUsers(c *Command) (LinkUsers, error) { return readCommand(c, linkUsers) }

// AppendForgetUser appends a ForgetUser.
func AppendForgetUser(dst []byte, nowMillis int64, x *ForgetUser) []byte {
	return appendCommand(dst, OpForgetUser, nowMillis, forgetUsers, x)
}

// ReadForgetUser reads a ForgetUser.
func ReadForgetUser(c *Command) (ForgetUser, error) { return readCommand(c, forgetUsers) }
