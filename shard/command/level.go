package command

import "encoding/binary"

// Level is a feature level: what all nodes of a cluster understand. A binary that brings a new encoding, or applies an old
// command in a new way, brings a new level with it. The cluster reaches the level when every member runs such a binary
// and a SetFeature is committed; until then the old encodings are proposed and the old ways are kept, so that an old
// binary can still be started.
//
// INVARIANT: a group's level never goes back.
type Level uint16

// The levels. Append only.
const (
	// LevelNone is the level of a group before its first SetFeature.
	LevelNone Level = iota
	// LevelBudgetLines lets the journal tell the budgets and billing modes in force, so that it can be audited alone.
	LevelBudgetLines
	// LevelAds brings banners, sponsored brands, keywords, targeting and segments: the members of more.go, the keyword
	// triggers, and the commands of segments.go.
	LevelAds
	// LevelRequests keeps the newest request ids of wallet adjustments whatever the state clock says: a clock that jumps
	// ahead cannot make a repetition book twice.
	LevelRequests
	// LevelAttempts lets a management command say which attempt of its proposer it is, so that a repeat is answered and not
	// applied again.
	LevelAttempts
	// LevelWallets brings further wallets of a vendor, ledger accounts, transfers between all of them, campaigns that move to
	// another wallet, and the news of a wallet that was emptied (wallets.go).
	LevelWallets
	// LevelProducts lets an event say which of its products are in no catalog, so that a group bounds how many of them it counts
	// one by one.
	LevelProducts
	// LevelVersions lets management writes of two nodes to the same campaign, bid, product or settings both hold: changes of
	// members are applied member by member, and what is built on values that were read is refused when they have changed
	// (versions.go).
	LevelVersions
)

// LevelNewest is the highest level that this binary knows.
const LevelNewest = LevelVersions

// encodings tells for each command, and each version of its encoding from 1 on, the level from which it may be used.
// Append only: an encoding that was ever in a log has to be read for ever.
var encodings = [...][]Level{
	OpNoop: {LevelNone}, OpAdvance: {LevelNone}, OpEvents: {LevelNone, LevelProducts}, OpBootstrap: {LevelNone},
	OpPutMarketplace: {LevelNone, LevelAds, LevelVersions}, OpPutRecords: {LevelNone}, OpPutCategories: {LevelNone},
	OpPutProducts: {LevelNone, LevelAds}, OpDeleteCatalog: {LevelNone}, OpAdjustWallet: {LevelNone},
	OpCreateCampaign: {LevelNone, LevelAds}, OpPatchCampaign: {LevelNone, LevelAds, LevelWallets, LevelVersions},
	OpPutBids:    {LevelNone, LevelAds},
	OpSetFeature: {LevelNone}, OpStageSegment: {LevelAds}, OpCommitSegment: {LevelAds},
	OpOpenAccount: {LevelWallets}, OpTransfer: {LevelWallets}, OpForgetEmptied: {LevelWallets},
	OpPatchBid: {LevelVersions}, OpPatchProducts: {LevelVersions},
}

// Needs returns the level from which a command may be proposed; known is false when this binary cannot read it.
func Needs(cmd []byte) (needs Level, known bool) {
	if len(cmd) < HeaderLen {
		return 0, false
	}
	return needsOf(cmd)
}

// needsOf is Needs of a command that has a header.
func needsOf(cmd []byte) (needs Level, known bool) {
	version, op := int(cmd[0]), int(cmd[1])
	if op >= len(encodings) || version == 0 || version > len(encodings[op]) {
		return 0, false
	}
	flags := binary.LittleEndian.Uint16(cmd[2:])
	if flags != 0 && (flags != flagAttempt || !Op(op).attempts()) {
		return 0, false
	}
	if Op(op) == OpSetFeature && len(cmd) == HeaderLen+2 && Level(binary.LittleEndian.Uint16(cmd[HeaderLen:])) > LevelNewest {
		return 0, false
	}
	needs = encodings[op][version-1]
	if flags == flagAttempt {
		needs = max(needs, LevelAttempts)
	}
	return needs, true
}

// SetFeature raises the feature level of a group. A level that the group has already changes nothing.
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
