package command

import (
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// Pace publishes what the leader of a group decided about the pacing of campaigns, and which reports of the nodes it has
// counted. Every decision is absolute, so a campaign that is left out keeps its last one. A terminated or unknown campaign
// is skipped; the answer has the number of skipped ones.
//
// The commands of a group are numbered. The leader that proposes number n has read that n-1 was applied, and the command
// is refused as Conflict otherwise: an older decision whose outcome was unknown for a while never replaces a newer one,
// and of two leaders only one goes on.
type Pace struct {
	Number    uint64          // The number of the Pace that was applied last, plus 1.
	Counted   []CountedReport // At most PaceNodesMax.
	Campaigns []Paced         // At most PaceMax; their ordinals ascend.
}

// CountedReport says that the holds contain everything that a node served up to one of its reports.
type CountedReport struct {
	Node   uint16 // The node's number, as in resolvedBidIds.
	Start  uint32 // The start of the node's process, as in resolvedBidIds.
	Number uint64 // Reports of a process are numbered from 1.
}

// Paced is the decision about one campaign.
type Paced struct {
	Campaign uint32       // Ordinal in the group.
	Word     uint64       // What auctions read; see pacing.Word. Its factor is at most 1.
	Hold     money.Micros // Expected cost of ads that were served and whose outcome is open. Not negative.
	Status   pacing.Status
	Memory   pacing.Memory // What the next leader continues from.
}

// BOUND: a Pace is at most PaceMax campaigns of at most 290 bytes and PaceNodesMax reports of 14 bytes.
const (
	PaceMax      = 4_096
	PaceNodesMax = 256
)

var (
	paces = newTable("pace",
		fixed("number", u64[uint64](), func(p *Pace) *uint64 { return &p.Number }),
		fixed("counted", list(countedReports, PaceNodesMax), func(p *Pace) *[]CountedReport { return &p.Counted }),
		fixed("campaigns", list(paced, PaceMax), func(p *Pace) *[]Paced { return &p.Campaigns }),
	).checked(ascending)
	countedReports = newTable("counted report",
		fixed("node", u16[uint16](), func(r *CountedReport) *uint16 { return &r.Node }),
		fixed("start", u32[uint32](), func(r *CountedReport) *uint32 { return &r.Start }),
		fixed("number", u64[uint64](), func(r *CountedReport) *uint64 { return &r.Number }),
	)
	paced = newTable("paced campaign",
		fixed("campaign", u32[uint32](), func(p *Paced) *uint32 { return &p.Campaign }),
		fixed("word", u64[uint64](), func(p *Paced) *uint64 { return &p.Word }),
		fixed("hold", price, func(p *Paced) *money.Micros { return &p.Hold }),
		fixed("status", enum[pacing.Status](pacing.Statuses), func(p *Paced) *pacing.Status { return &p.Status }),
		fixed("memory", value(pacingMemories), func(p *Paced) *pacing.Memory { return &p.Memory }),
	).checked(func(p *Paced) bool { return validWord(p.Word) })
	pacingMemories = newTable("pacing memory",
		optional(0, "at", millis, func(m *pacing.Memory) *int64 { return &m.AtMillis }),
		optional(1, "period", u32[uint32](), func(m *pacing.Memory) *uint32 { return &m.Period }),
		optional(2, "aggressiveness", i32, func(m *pacing.Memory) *int32 { return &m.Aggressiveness }),
		optional(3, "opening", i32, func(m *pacing.Memory) *int32 { return &m.Opening }),
		optional(4, "steered", u32[uint32](), func(m *pacing.Memory) *uint32 { return &m.Steered }),
		optional(5, "fast part of the hold", price, func(m *pacing.Memory) *money.Micros { return &m.HoldFast }),
		optional(6, "slow part of the hold", price, func(m *pacing.Memory) *money.Micros { return &m.HoldSlow }),
		optional(7, "win rate", u64[uint64](), func(m *pacing.Memory) *uint64 { return &m.WinRate }),
		optional(8, "cost", price, func(m *pacing.Memory) *money.Micros { return &m.Cost }),
		optional(9, "traffic", u64[uint64](), func(m *pacing.Memory) *uint64 { return &m.Traffic }),
		optional(10, "seen", u64[uint64](), func(m *pacing.Memory) *uint64 { return &m.Seen }),
		optional(11, "seen hours", u64[uint64](), func(m *pacing.Memory) *uint64 { return &m.SeenHours }),
		optional(12, "used", price, func(m *pacing.Memory) *money.Micros { return &m.Used }),
		optional(13, "behind", signed, func(m *pacing.Memory) *money.Micros { return &m.Behind }),
		optional(14, "cap", price, func(m *pacing.Memory) *money.Micros { return &m.Cap }),
		optional(15, "start of the day", millis, func(m *pacing.Memory) *int64 { return &m.DayStartMillis }),
		optional(16, "spent before the day", price, func(m *pacing.Memory) *money.Micros { return &m.DaySpent }),
		optional(17, "counted", u64[uint64](), func(m *pacing.Memory) *uint64 { return &m.Counted }),
		optional(18, "skip", u32[uint32](), func(m *pacing.Memory) *uint32 { return &m.Skip }),
		optional(19, "multiplier", u32[uint32](), func(m *pacing.Memory) *uint32 { return &m.Multiplier }),
		optional(20, "wins", u32[uint32](), func(m *pacing.Memory) *uint32 { return &m.Wins }),
		optional(21, "return", value(returnMemories), func(m *pacing.Memory) *pacing.ReturnMemory { return &m.Return }).since(LevelTargetReturn),
	)
	returnMemories = newTable("memory of a target return",
		optional(0, "at", millis, func(m *pacing.ReturnMemory) *int64 { return &m.AtMillis }),
		optional(1, "log", i32, func(m *pacing.ReturnMemory) *int32 { return &m.Log }),
		optional(2, "fast part of pending spend", price, func(m *pacing.ReturnMemory) *money.Micros { return &m.Pending[0] }),
		optional(3, "middle part of pending spend", price, func(m *pacing.ReturnMemory) *money.Micros { return &m.Pending[1] }),
		optional(4, "slow part of pending spend", price, func(m *pacing.ReturnMemory) *money.Micros { return &m.Pending[2] }),
		optional(5, "spend", price, func(m *pacing.ReturnMemory) *money.Micros { return &m.Spend }),
		optional(6, "value", price, func(m *pacing.ReturnMemory) *money.Micros { return &m.Value }),
		optional(7, "counted spend", price, func(m *pacing.ReturnMemory) *money.Micros { return &m.CountedSpend }),
		optional(8, "counted value", price, func(m *pacing.ReturnMemory) *money.Micros { return &m.CountedValue }),
	)
)

// ascending reports whether the campaigns of a Pace ascend without repeats, so that each has one decision.
func ascending(p *Pace) bool {
	for i := 1; i < len(p.Campaigns); i++ {
		if p.Campaigns[i].Campaign <= p.Campaigns[i-1].Campaign {
			return false
		}
	}
	return true
}

// validWord reports whether the factor of the bids in a pacing word is at most 1. A larger one would raise bids above
// what the vendor set.
func validWord(word uint64) bool { return word&(1<<32-1) <= pacing.Unshaded }

// AppendPace appends a Pace.
func AppendPace(dst []byte, nowMillis int64, p *Pace) []byte {
	return appendCommand(dst, OpPace, nowMillis, paces, p)
}

// ReadPace reads a Pace. It fails when a word would raise bids, a hold is negative, or campaigns do not ascend.
func ReadPace(c *Command) (Pace, error) { return readCommand(c, paces) }

// AppendPaced appends the decision about a campaign as a group stores it, without the ordinal, which is the key.
func AppendPaced(dst []byte, p *Paced) []byte { return paced.append(dst, p) }

// Paced reads what AppendPaced wrote into p. REQUIRES: *p is the zero value.
func (d *Decoder) Paced(p *Paced) { paced.read(d, p) }

// AppendCountedReport appends r.
func AppendCountedReport(dst []byte, r *CountedReport) []byte { return countedReports.append(dst, r) }

// CountedReport reads what AppendCountedReport wrote into r. REQUIRES: *r is the zero value.
func (d *Decoder) CountedReport(r *CountedReport) { countedReports.read(d, r) }
