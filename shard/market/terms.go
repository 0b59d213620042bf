package market

import (
	"slices"
	"sync/atomic"
)

// CampaignTerms are the further terms of a campaign. Most have none, so they stand apart from the rows, which every bid
// reads. A value never changes once it is in a view.
type CampaignTerms struct {
	Include     []uint32 // Segments: the user must be in one, unless there are none.
	Exclude     []uint32 // Segments: the user must be in none.
	Multipliers []SegmentFactor
	Schedule    []uint16 // By local hour of the week, in units of 1/ScheduleOne; nil: as bid at all hours.
	Caps        []Cap
	Products    []uint32 // Rows of productIds.
}

// SegmentFactor is a multiplier for the users of a segment.
type SegmentFactor struct {
	Segment uint32
	Factor  uint32 // In units of 1/MultiplierOne.
}

// setTerms stores the terms of a campaign and reports whether it has any.
func (m *Market) setTerms(i uint32, c *Campaign) bool {
	s := &c.Segments
	if len(s.Include)+len(s.Exclude)+len(s.Multipliers)+len(c.Schedule)+len(c.Caps)+len(c.Products) == 0 {
		if *m.further.at(i) != nil {
			*m.further.edit(i, m.edition) = nil
			m.dirty = true
		}
		return false
	}
	t := &CampaignTerms{Schedule: slices.Clone(c.Schedule), Caps: slices.Clone(c.Caps)}
	for _, id := range s.Include {
		t.Include = append(t.Include, m.segment(c.Marketplace, id))
	}
	for _, id := range s.Exclude {
		t.Exclude = append(t.Exclude, m.segment(c.Marketplace, id))
	}
	for _, x := range s.Multipliers {
		t.Multipliers = append(t.Multipliers, SegmentFactor{m.segment(c.Marketplace, x.Segment), x.Multiplier})
	}
	for _, id := range c.Products {
		t.Products = append(t.Products, m.product(c.Marketplace, id))
	}
	*m.further.edit(i, m.edition) = t
	m.dirty = true
	return true
}

// Terms returns the further terms of a campaign. REQUIRES: its row has CampaignTermed.
func (v *View) Terms(campaign uint32) *CampaignTerms { return *v.terms.at(campaign) }

// Gate is what pacing lets through of a campaign, in one word that every auction reads: the high half is the probability
// to compete in units of 1/2^32, all ones for always; the low half multiplies the bid, in units of 1/2^31. 0 stops the
// campaign. It stays the same for the life of the process, as a Slot does, and stands at GateOpen until somebody stores.
type Gate struct{ atomic.Uint64 }

// GateOpen lets every bid compete as it is.
const GateOpen = GateAlways<<32 | GateUnshaded

// The halves of an open gate.
const (
	GateAlways   = 1<<32 - 1
	GateUnshaded = 1 << 31
)

// Gate returns a campaign's gate.
func (v *View) Gate(campaign uint32) *Gate { return &v.Slot(campaign).gate }

// GateOf returns the gate of a campaign by group and ordinal, nil when it was never put: for the controller of pacing.
func (m *Market) GateOf(c *Campaign) *Gate {
	m.mu.Lock()
	defer m.mu.Unlock()

	i := m.campaignOf(c)
	if i == 0 {
		return nil
	}
	return &m.slots[i>>chunkBits][i%chunkRows].gate
}
