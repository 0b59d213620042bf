package command

import "encoding/binary"

// Level is a feature level: the set of encodings and rules that all nodes of a cluster know. A binary that adds an
// encoding, or applies an existing command in a new way, adds a level. The cluster reaches the level when every member
// runs such a binary and a SetFeature is committed. Until then the old encodings and rules are used, so that an old
// binary can still be started.
//
// INVARIANT: a group's level never goes back.
type Level uint16

// LevelFormat1 is the level of a new group: format 1, with everything that no later level names. The numbers 1 to 5 are
// not used.
const LevelFormat1 Level = 0

// The later levels. Append only.
const (
	// LevelProducts adds to an event which of its products are not in the catalog, so that a group can bound the number of
	// such products that it counts one by one.
	LevelProducts Level = iota + 6
	// LevelVersions prevents that two management writes to the same campaign, bid, product or settings undo one another:
	// changes are applied member by member, and a change based on values that have changed since is refused (versions.go).
	LevelVersions
	// LevelCampaignRules lets the state machine refuse what costs money without bounds: a CPA campaign without a total
	// budget, and a campaign of a vendor that is not in the catalog any more (vendors.go).
	LevelCampaignRules
	// LevelNotices lets commands about campaigns and bids carry the notice to a webhook, which is stored with the change
	// (notice.go).
	LevelNotices
	// LevelPacing makes the state of pacing and what is learned from committed events part of the replicated state.
	LevelPacing
	// LevelEventIDs recognises the id of an event for 72 hours whatever its time or token.
	LevelEventIDs
	// LevelReports counts the auctions that campaigns have won and lost, by reason (auctions.go), and lets one withdrawal take
	// from several wallets (AdjustWallet.Others).
	LevelReports
	// LevelAttribution stores touches, credits purchases to them, and charges what is paid by purchases.
	LevelAttribution
	// LevelExternalIDs lets a change give a campaign another external id, or take it away.
	LevelExternalIDs
	// LevelReturns takes back what was counted for products that buyers have returned, and reverses charges (returns.go,
	// reversal.go).
	LevelReturns
	// LevelUsers links users, so that touches of one are credited with purchases of another, erases users, and stores credits
	// without their users (users.go).
	LevelUsers
	// LevelTargetReturn learns the purchases after clicks from what is credited, and sums what campaigns with a target return
	// have paid and sold, by which they are steered.
	LevelTargetReturn
	// LevelDynamicSegments evaluates who belongs to dynamic segments (dynamic.go).
	LevelDynamicSegments
	// LevelInvalidTraffic lets a marketplace have rules by which clicks are invalid (model.ClickRules).
	LevelInvalidTraffic
	// LevelAuditEntries lets management commands carry the entry of the audit log of the request that they belong to, and
	// lets every group store such entries (auditentry.go).
	LevelAuditEntries
	// LevelModels keeps with a purchase who bought, from which vendors, and the rules that credited it, so that its credits can
	// be computed again, by these rules and by others (Purchase.Buyer).
	LevelModels
	// LevelFullCounters leaves counters of sales that are full as they are when pieces come back (rollup.Return.KeepFull).
	LevelFullCounters
)

// LevelHoldouts gives campaigns a holdout (model.Campaign.HoldoutPercent), and stores who was enrolled in its measurement
// (enrol.go). The number 23 is not used.
const LevelHoldouts Level = 24

// LevelClosing lets a marketplace be closed, so that it can be moved to another cell (model.Marketplace.Closed).
const LevelClosing Level = 25

// LevelPlaces keeps with events, touches and credits on which device and channel they happened, and counts what campaigns get
// by placement, device and channel (event.Place).
const LevelPlaces Level = 26

// LevelExperiments lets a marketplace have an experiment, and counts what its users do (model.Experiment).
const LevelExperiments Level = 27

// LevelEvents lets a marketplace keep the events that are reported, so that they can be exported (model.Marketplace.EventDays).
const LevelEvents Level = 28

// LevelNewest is the highest level that this binary knows.
const LevelNewest = LevelEvents

const _ = uint8(LevelNewest) // The header of a command has one byte for its level.

// introduced holds, for each command, the level from which it may be proposed. A member that a later level adds to a
// command has its level in a table. Append only: an encoding that was ever used must be readable for ever.
var introduced = [...]Level{
	OpNoop: LevelFormat1, OpAdvance: LevelFormat1, OpEvents: LevelFormat1, OpBootstrap: LevelFormat1,
	OpPutMarketplace: LevelFormat1, OpPutRecords: LevelFormat1, OpPutCategories: LevelFormat1, OpPutProducts: LevelFormat1,
	OpDeleteCatalog: LevelFormat1, OpAdjustWallet: LevelFormat1, OpCreateCampaign: LevelFormat1,
	OpPatchCampaign: LevelFormat1, OpPutBids: LevelFormat1, OpSetFeature: LevelFormat1, OpStageSegment: LevelFormat1,
	OpCommitSegment: LevelFormat1, OpOpenAccount: LevelFormat1, OpTransfer: LevelFormat1, OpForgetEmptied: LevelFormat1,
	OpPatchBid: LevelVersions, OpPatchProducts: LevelVersions,
	OpMarkVendors: LevelCampaignRules, OpForgetNotices: LevelNotices, OpPace: LevelPacing, OpTraffic: LevelPacing,
	OpCountAuctions: LevelReports,
	OpDecideCredits: LevelAttribution, OpApplyCredits: LevelAttribution, OpCloseCredits: LevelAttribution,
	OpApplyReturns: LevelReturns, OpCloseReturns: LevelReturns, OpReverse: LevelReturns,
	OpLinkUsers: LevelUsers, OpForgetUser: LevelUsers,
	OpWatchUsers: LevelDynamicSegments, OpForgetMarks: LevelDynamicSegments, OpDefineSegment: LevelDynamicSegments,
	OpDecideMembers: LevelDynamicSegments, OpEnrolUsers: LevelHoldouts,
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
	op, flags, needs := Op(cmd[1]), cmd[flagsAt], Level(cmd[levelAt])
	switch {
	case cmd[0] != Version, op == 0, int(op) >= len(introduced), needs > LevelNewest:
		return 0, false
	case flags&^(flagAttempt|flagNotice|flagAuditEntry) != 0, flags&flagAttempt != 0 && !op.mayBeAttempt(),
		flags&flagNotice != 0 && !op.mayCarryNotice(), flags&flagAuditEntry != 0 && !op.mayCarryAuditEntry():
		return 0, false
	case op == OpSetFeature && len(cmd) >= HeaderLen+2 &&
		Level(binary.LittleEndian.Uint16(cmd[HeaderLen:])) > LevelNewest:
		return 0, false
	}
	return needs, true
}

// SetFeature raises the feature level of a group. It changes nothing when the group has already reached the level.
type SetFeature struct{ Level Level }

var setFeatures = newTable("set feature",
	fixed("level", u16[Level](), func(s *SetFeature) *Level { return &s.Level }),
)

// AppendSetFeature appends a SetFeature.
func AppendSetFeature(dst []byte, nowMillis int64, s SetFeature) []byte {
	return appendCommand(dst, OpSetFeature, nowMillis, setFeatures, &s)
}

// ReadSetFeature reads a SetFeature.
func ReadSetFeature(c *Command) (SetFeature, error) { return readCommand(c, setFeatures) }
