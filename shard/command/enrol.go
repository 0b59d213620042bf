package command

// EnrolUsers says that users take part in the measurement of the holdouts of campaigns: a bid of the campaign has won
// an auction of the user, or would have won it if the user were not held out. Every node proposes them for the campaigns
// of a group. A user is enrolled once a UTC day and campaign, by the first command, so repeats change nothing. Users of
// campaigns that have another holdout by now, or that the group does not have, are skipped.
type EnrolUsers struct {
	Users []Enrolment // At most EnrolUsersMax.
}

// Enrolment is a user of a campaign with a holdout.
type Enrolment struct {
	Campaign uint32 // Ordinal in the group.
	Percent  uint8  // The campaign's HoldoutPercent in the auction.
	User     uint64 // Hash of the user's id, as in events.
	Millis   int64  // When the auction was.
}

// EnrolUsersMax bounds an EnrolUsers. BOUND: a command has at most 92 KB.
const EnrolUsersMax = 4_096

var (
	enrolUsers = newTable("enrol users",
		fixed("users", list(enrolments, EnrolUsersMax), func(x *EnrolUsers) *[]Enrolment { return &x.Users }),
	)
	enrolments = newTable("enrolment",
		fixed("campaign", u32[uint32](), func(x *Enrolment) *uint32 { return &x.Campaign }),
		fixed("percent", u8[uint8](), func(x *Enrolment) *uint8 { return &x.Percent }),
		fixed("user", u64[uint64](), func(x *Enrolment) *uint64 { return &x.User }),
		fixed("millis", millis, func(x *Enrolment) *int64 { return &x.Millis }),
	)
)

// AppendEnrolUsers appends an EnrolUsers, which needs LevelHoldouts.
func AppendEnrolUsers(dst []byte, nowMillis int64, x *EnrolUsers) []byte {
	return appendCommand(dst, OpEnrolUsers, nowMillis, enrolUsers, x)
}

// ReadEnrolUsers reads an EnrolUsers.
func ReadEnrolUsers(c *Command) (EnrolUsers, error) { return readCommand(c, enrolUsers) }
