package shard

import (
	"errors"
	"math/bits"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// pace is what the machine keeps in memory of a campaign's pacing. The rest of the decision is in the state, for the next
// leader. The zero value is that of a campaign that was never paced: its bids compete unchanged and nothing is held.
type pace struct {
	word uint64
	hold money.Micros
	hash uint64 // Hash of the stored decision; 0: none.
}

// published returns the word that auctions read.
func (p *pace) published() uint64 {
	if p.hash == 0 {
		return pacing.Open
	}
	return p.word
}

// paceCampaigns applies the decisions of a group's leader. See command.Pace for the numbers of these commands. Auctions
// read the new words and holds at once, and the reports that the holds contain afterwards, so that between the two they
// see too little money left rather than too much.
func (m *Machine) paceCampaigns(p *command.Pace) command.Result {
	if p.Number != m.paced.number+1 {
		return refused(command.Conflict, 0)
	}
	if !m.paced.count(p.Counted, m.state.now) {
		return refused(command.TooMany, 0)
	}
	m.paced.number = p.Number
	m.paced.hash = m.replace([]byte{tablePaced}, m.paced.append(m.value[:0]), m.paced.hash)
	skipped := 0
	for i := range p.Campaigns {
		if x := &p.Campaigns[i]; !m.paceCampaign(x) {
			skipped++
		}
	}
	for i := range p.Counted {
		m.feed.PutCounted(m.group, &p.Counted[i])
	}
	return command.Result{Index: skipped}
}

// paceCampaign stores and publishes the decision about one campaign. It returns false for an unknown or terminated one.
func (m *Machine) paceCampaign(x *command.Paced) bool {
	if x.Campaign == 0 || uint64(x.Campaign) > uint64(len(m.campaigns)) {
		return false
	}
	c := m.campaigns[x.Campaign-1]
	if c.Status == model.Terminated {
		return false
	}
	m.key = keyPace(m.key[:0], c.Ordinal)
	m.value = command.AppendPaced(m.value[:0], x)
	hash := m.replace(m.key, m.value, c.pace.hash)
	m.setPace(c, pace{x.Word, x.Hold, hash})
	m.publishPace(c)
	return true
}

// dropPace removes what is stored about the pacing of a campaign that was terminated: its ads are not charged any more,
// so nothing of its wallet is held for them.
func (m *Machine) dropPace(c *campaign) {
	if c.pace.hash == 0 {
		return
	}
	m.digest ^= c.pace.hash
	m.written = true
	m.key = keyPace(m.key[:0], c.Ordinal)
	m.b.Delete(m.key)
	m.setPace(c, pace{})
	m.publishPace(c)
}

// setPace changes a campaign's pace in memory, and the hold of its wallet with it.
func (m *Machine) setPace(c *campaign, p pace) {
	if c.pace.hold != p.hold {
		c.wallet.hold.subtract(c.pace.hold)
		c.wallet.hold.add(p.hold)
		m.markHoldDirty(c.wallet)
	}
	c.pace = p
}

// markHoldDirty makes Flush publish the hold of a wallet to the auctions of all its campaigns.
func (m *Machine) markHoldDirty(w *wallet) {
	if !w.holdDirty {
		w.holdDirty = true
		m.dirtyHolds = append(m.dirtyHolds, w)
	}
}

// publishPace stores a campaign's pacing word and hold where auctions read them.
func (m *Machine) publishPace(c *campaign) {
	c.balances.Hold.Store(int64(c.pace.hold))
	c.balances.Pacing.Store(c.pace.published())
}

// loadPace restores the decision about a campaign. The record follows that of the campaign.
func (m *Machine) loadPace(ordinal uint32, value []byte, hash uint64) error {
	x, err := readPaced(ordinal, value)
	if err != nil {
		return err
	}
	if ordinal == 0 || uint64(ordinal) > uint64(len(m.campaigns)) {
		return errors.New("pacing without campaign")
	}
	c := m.campaigns[ordinal-1]
	m.setPace(c, pace{x.Word, x.Hold, hash})
	m.publishPace(c)
	return nil
}

func readPaced(ordinal uint32, value []byte) (command.Paced, error) {
	d := command.NewDecoder(value)
	var x command.Paced
	d.Paced(&x)
	if err := d.Err(); err != nil {
		return x, err
	}
	if x.Campaign != ordinal {
		return x, errKey
	}
	return x, nil
}

// holdSum is a sum of holds. It has 128 bits, because the hold of one campaign may be as large as an amount can be.
type holdSum struct{ high, low uint64 }

func (s *holdSum) add(hold money.Micros) {
	var carry uint64
	s.low, carry = bits.Add64(s.low, uint64(hold), 0) // Not negative.
	s.high += carry
}

// subtract takes a hold out of the sum. REQUIRES: it was added.
func (s *holdSum) subtract(hold money.Micros) {
	var borrow uint64
	s.low, borrow = bits.Sub64(s.low, uint64(hold), 0) // Not negative.
	s.high -= borrow
}

// micros returns the sum, or money.MaxMicros where it is larger.
func (s *holdSum) micros() int64 {
	if s.high != 0 || s.low > uint64(money.MaxMicros) {
		return int64(money.MaxMicros)
	}
	return int64(s.low) // Compared.
}
