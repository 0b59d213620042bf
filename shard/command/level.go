package command

import "encoding/binary"

// Level is a feature level: the set of encodings and rules that all nodes of a cluster know. A binary that adds an
// encoding, or applies an existing command in a new way, adds a level. The cluster reaches the level when every member
// runs such a binary and a SetFeature is committed. Until then the old encodings and rules are used, so that an old
// binary can still be started.
//
// INVARIANT: a group's level never goes back.
type Level uint16

// The levels. Append only.
const (
	// LevelNone is the level of a group before its first SetFeature.
	LevelNone Level = iota
	// LevelBudgetLines adds the budgets and billing modes in force to the journal, so that the journal alone can be
	// verified.
	LevelBudgetLines
	// LevelAds adds banners, sponsored brands, keywords, targeting and segments: the members of later_members.go, the
	// keyword triggers, and the commands of segments.go.
	LevelAds
	// LevelRequests keeps the newest request ids of wallet adjustments regardless of the state clock, so that a repeated
	// deposit is not applied twice after the clock has jumped ahead.
	LevelRequests
	// LevelAttempts adds Attempt to management commands, so that a repeat gets the first answer and is not applied again.
	LevelAttempts
	// LevelWallets adds further wallets of a vendor, ledger accounts, transfers between all of them, campaigns that change
	// their wallet, and reminders of emptied wallets (wallets.go).
	LevelWallets
	// LevelProducts adds to an event which of its products are not in the catalog, so that a group can bound the number of
	// such products that it counts one by one.
	LevelProducts
	// LevelVersions prevents that two management writes to the same campaign, bid, product or settings undo one another:
	// changes are applied member by member, and a change based on values that have changed since is refused (versions.go).
	LevelVersions
	// LevelCampaignRules lets the state machine refuse what costs money without bounds: a CPA campaign without a total budget, and a
	// campaign of a vendor that is not in the catalog any more (vendors.go).
	LevelCampaignRules
	// LevelNotices lets commands about campaigns and bids carry the notice to a webhook, which is stored with the change
	// (notice.go).
	LevelNotices
)

// LevelNewest is the highest level that this binary knows.
const LevelNewest = LevelNotices

// encodings holds, for each command and each version of its encoding from 1 on, the level from which it may be used.
// Append only: an encoding that was ever used must be readable for ever.
var encodings = [...][]Level{
	OpNoop: {LevelNone}, OpAdvance: {LevelNone}, OpEvents: {LevelNone, LevelProducts}, OpBootstrap: {LevelNone},
	OpPutMarketplace: {LevelNone, LevelAds, LevelVersions}, OpPutRecords: {LevelNone}, OpPutCategories: {LevelNone},
	OpPutProducts: {LevelNone, LevelAds}, OpDeleteCatalog: {LevelNone}, OpAdjustWallet: {LevelNone},
	OpCreateCampaign: {LevelNone, LevelAds}, OpPatchCampaign: {LevelNone, LevelAds, LevelWallets, LevelVersions},
	OpPutBids:    {LevelNone, LevelAds},
	OpSetFeature: {LevelNone}, OpStageSegment: {LevelAds}, OpCommitSegment: {LevelAds},
	OpOpenAccount: {LevelWallets}, OpTransfer: {LevelWallets}, OpForgetEmptied: {LevelWallets},
	OpPatchBid: {LevelVersions}, OpPatchProducts: {LevelVersions},
	OpMarkVendors: {LevelCampaignRules}, OpForgetNotices: {LevelNotices},
}

// Needs returns the level from which a command may be proposed; known is false when this binary cannot read it.
func Needs(cmd []byte) (needs Level, known bool) {
	if len(cmd) < HeaderLen {
		return 0, false
	}
	return needsOf(cmd)
}

// needsOf is Needs for a command of at least HeaderLen bytes.
func needsOf(cmd []byte) (needs Level, known bool) {
	version, op := int(cmd[0]), int(cmd[1])
	if op >= len(encodings) || version == 0 || version > len(encodings[op]) {
		return 0, false
	}
	flags := binary.LittleEndian.Uint16(cmd[2:])
	attempt, notice := flags&flagAttempt != 0, flags&flagNotice != 0
	if flags&^(flagAttempt|flagNotice) != 0 || attempt && !Op(op).mayBeAttempt() || notice && !Op(op).mayCarryNotice() {
		return 0, false
	}
	if Op(op) == OpSetFeature && len(cmd) == HeaderLen+2 && Level(binary.LittleEndian.Uint16(cmd[HeaderLen:])) > LevelNewest {
		return 0, false
	}
	needs = encodings[op][version-1]
	if attempt {
		needs = max(needs, LevelAttempts)
	}
	if notice {
		needs = max(needs, LevelNotices)
	}
	return needs, true
}

// SetFeature raises the feature level of a group. It changes nothing when the group has already reached the level.
type SetFeature struct{ Level Level }

// AppendSetFeature appends a SetFeature.
func AppendSetFeature(dst []byte, nowMillis int64, s SetFeature) []byte {
	dst, at := begin(dst, OpSetFeature, nowMillis, 0)
	return seal(binary.LittleEndian.AppendUint16(dst, uint16(s.Level)), at)
}

// ReadSetFeature reads a SetFeature.
func ReadSetFeature(c *Command) (s SetFeature, err error) {
	d := NewDecoder(c.body)
	s.Level = Level(d.U16())
	return s, d.Err()
}
