package shard

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/learn"
)

// teachDelay learns from the age of a counted click how long money has to be held for an ad. The age is the time from the
// auction to the arrival of the report, and not to the click, because the money is held until the charge is committed.
// Each group learns from the clicks of its own campaigns, for each marketplace.
func (m *Machine) teachDelay(marketplace uint16, seconds uint32) {
	t := m.tenant(marketplace)
	t.delay.Add(seconds)
	if !t.delayDirty {
		t.delayDirty = true
		m.dirtyDelays = append(m.dirtyDelays, marketplace)
	}
}

// publishDelays publishes the delays that the batch has changed.
func (m *Machine) publishDelays() {
	for _, marketplace := range m.dirtyDelays {
		m.feed.PutClickDelay(m.group, marketplace, m.tenant(marketplace).delay)
	}
}

// flushDelays writes and publishes the delays that the batch has changed.
func (m *Machine) flushDelays() {
	for _, marketplace := range m.dirtyDelays {
		t := m.tenant(marketplace)
		t.delayDirty = false
		m.key = keyClickDelay(m.key[:0], marketplace)
		m.value = appendDelay(m.value[:0], &t.delay)
		t.delayHash = m.replace(m.key, m.value, t.delayHash)
		m.feed.PutClickDelay(m.group, marketplace, t.delay)
	}
	m.dirtyDelays = m.dirtyDelays[:0]
}

func (m *Machine) loadDelay(marketplace uint16, value []byte, hash uint64) (err error) {
	t := m.tenant(marketplace)
	t.delay, err = readDelay(value)
	t.delayHash = hash
	m.feed.PutClickDelay(m.group, marketplace, t.delay)
	return err
}

func appendDelay(dst []byte, d *learn.Delay) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, d.Mean)
	return binary.LittleEndian.AppendUint32(dst, d.Clicks)
}

func readDelay(stored []byte) (learn.Delay, error) {
	d := command.NewDecoder(stored)
	delay := learn.Delay{Mean: d.U64(), Clicks: d.U32()}
	return delay, d.Err()
}
