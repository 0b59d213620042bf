package shard

import (
	"encoding/binary"
	"errors"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

// A campaign with a target return is steered by what it has paid for clicks and what was sold (package pacing). Both are
// sums that only grow, so that a controller which misses an update has missed nothing, and a new leader knows from its
// memory what is new. They are counted from LevelTargetReturn on, while the campaign has a target, and stay when it has none.
type returned struct {
	market.Returned
	hash  uint64 // Hash of the stored record; 0 when there is none.
	dirty bool
}

// returnSpend counts a click that was charged.
func (m *Machine) returnSpend(c *campaign, charged money.Micros) {
	if m.state.level < command.LevelTargetReturn || charged == 0 || !c.HasReturn() {
		return
	}
	c.returned.Clicks++
	c.returned.Spend = plus(c.returned.Spend, charged)
	m.markReturned(c)
}

// returnValue counts an item that was credited.
func (m *Machine) returnValue(c *campaign, value money.Micros) {
	if !c.HasReturn() {
		return
	}
	c.returned.Purchases++
	c.returned.Value = plus(c.returned.Value, value)
	m.markReturned(c)
}

// plus adds amounts, which saturates.
func plus(a, b money.Micros) money.Micros {
	sum, ok := money.Add(a, b)
	if !ok {
		return money.MaxMicros
	}
	return sum
}

func (m *Machine) markReturned(c *campaign) {
	if !c.returned.dirty {
		c.returned.dirty = true
		m.dirtyReturned = append(m.dirtyReturned, c)
	}
}

// publishReturned publishes the sums that the batch has changed.
func (m *Machine) publishReturned() {
	for _, c := range m.dirtyReturned {
		m.feed.PutReturned(m.group, c.Ordinal, c.returned.Returned)
	}
}

// flushReturned writes and publishes the sums that the batch has changed.
func (m *Machine) flushReturned() {
	m.publishReturned()
	for _, c := range m.dirtyReturned {
		c.returned.dirty = false
		m.key = appendU32(append(m.key[:0], tableReturned), c.Ordinal)
		m.value = appendReturned(m.value[:0], &c.returned.Returned)
		c.returned.hash = m.replace(m.key, m.value, c.returned.hash)
	}
	m.dirtyReturned = m.dirtyReturned[:0]
}

// loadReturned restores the sums of a campaign. The record follows that of the campaign.
func (m *Machine) loadReturned(ordinal uint32, value []byte, hash uint64) error {
	if ordinal == 0 || uint64(ordinal) > uint64(len(m.campaigns)) {
		return errors.New("returns without campaign")
	}
	r, err := readReturned(value)
	if err != nil {
		return err
	}
	m.campaigns[ordinal-1].returned = returned{r, hash, false}
	m.feed.PutReturned(m.group, ordinal, r)
	return nil
}

func appendReturned(dst []byte, r *market.Returned) []byte {
	dst = binary.AppendUvarint(dst, r.Clicks)
	dst = binary.AppendUvarint(dst, r.Purchases)
	dst = command.AppendMoney(dst, r.Spend)
	return command.AppendMoney(dst, r.Value)
}

func readReturned(stored []byte) (market.Returned, error) {
	d := command.NewDecoder(stored)
	r := market.Returned{Clicks: d.Uvarint(), Purchases: d.Uvarint(), Spend: d.Price(), Value: d.Price()}
	return r, d.Err()
}
