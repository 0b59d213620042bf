package shard_test

import (
	"encoding/binary"
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// managed is a group with one campaign at the newest feature level, and helpers to change the campaign.
type managed struct {
	*testing.T
	*shardtest.Replica
	campaign model.Campaign
	last     uint32
}

func newManaged(t *testing.T) *managed {
	m := &managed{T: t, Replica: open(t, shardtest.NewKV()), campaign: campaign(1, "v", 1)}
	m.Do(setFeature(command.LevelNewest))
	expect(t, "created", result(t, m.Do(create(1, "v", 1, 100))).Refusal, command.Done)
	return m
}

// patch returns a new attempt to change the budget.
func (m *managed) patch(budget int64) []byte {
	m.last++
	a := command.Attempt{Seen: m.turn()}
	binary.BigEndian.PutUint32(a.ID[:], m.last)
	return command.AppendAttempt(command.AppendPatchCampaign(nil, benchNow, &command.PatchCampaign{
		Campaign: m.campaign.ID, Marketplace: 1, Budget: new(micros(budget)),
	}), a)
}

func (m *managed) turn() uint64 { return m.Queries().Turn() }

// want sends a command and compares the answer, and the budget after it.
func (m *managed) want(when string, cmd []byte, why command.Refusal, budget int64) {
	m.Helper()
	expect(m.T, when, result(m.T, m.Do(cmd)), command.Result{Refusal: why})
	c, _ := m.Queries().Campaign(m.campaign.ID)
	expect(m.T, when+", budget", c.Money.Amount, micros(budget))
}

// ticks applies n Advance commands.
func (m *managed) ticks(n int) {
	tick := command.AppendAdvance(nil, benchNow, &command.Advance{})
	for range n {
		m.Apply(tick)
	}
	m.Commit()
}

// remembered counts the attempts in the state.
func (m *managed) remembered() (n int) {
	m.KV.Scan([]byte{0x1d}, []byte{0x1e}, func(_, _ []byte) bool { n++; return true })
	return n
}

// A budget is changed twice by different proposers, and then a repeat of the first change arrives.
func TestARepeatDoesNotUndoALaterChange(t *testing.T) {
	m := newManaged(t)
	first, second := m.patch(200), m.patch(300)
	m.want("first change", first, command.Done, 200)
	m.want("second change", second, command.Done, 300)
	digest := m.Machine.Digest()
	m.want("repeat of the first", first, command.Done, 300)
	if m.Machine.Digest() != digest {
		t.Error("a repeat changed the state")
	}
	m.Replica = open(t, m.KV.Copy()) // A restart, or a snapshot.
	m.want("repeat after a restart", first, command.Done, 300)
	m.ticks(255)
	m.want("repeat just before it is forgotten", first, command.Done, 300)
	m.ticks(1)
	m.want("repeat of what is forgotten", first, command.Expired, 300)
	m.want("a new attempt at the same", m.patch(200), command.Done, 200)
}

// A repeat of a refused attempt is refused again, also when it could be applied by now, because the proposer has
// already received the refusal.
func TestARefusedAttemptIsNotTriedAgain(t *testing.T) {
	m := newManaged(t)
	other := command.PatchCampaign{Campaign: ids.UUID{9}, Marketplace: 1, Active: new(false)}
	record := command.Record{Kind: command.RecordVendor, Marketplace: 1, ID: "v", Value: []byte("a"), Expect: 7}
	put := command.AppendAttempt(command.AppendPutRecords(nil, benchNow, &command.PutRecords{Records: []command.Record{record}}),
		command.Attempt{ID: [16]byte{1}, Seen: m.turn()})
	expect(t, "a record that is not there", result(t, m.Do(put)).Refusal, command.NotFound)
	record.Expect = command.Any
	m.Do(command.AppendPutRecords(nil, benchNow, &command.PutRecords{Records: []command.Record{record}}))
	expect(t, "its repeat", result(t, m.Do(put)).Refusal, command.NotFound)
	patch := command.AppendAttempt(command.AppendPatchCampaign(nil, benchNow, &other), command.Attempt{ID: [16]byte{2}, Seen: m.turn()})
	expect(t, "a campaign that is not there", result(t, m.Do(patch)).Refusal, command.NotFound)
}

// A command that was made long ago and arrives for the first time is refused too, because the machine cannot know that
// it is the first time.
func TestALateAttemptIsRefused(t *testing.T) {
	m := newManaged(t)
	late := m.patch(200)
	m.ticks(256)
	m.want("at the limit", m.patch(150), command.Done, 150)
	m.want("beyond it", late, command.Expired, 150)
	ahead := command.AppendAttempt(command.AppendPatchCampaign(nil, benchNow, &command.PatchCampaign{Campaign: m.campaign.ID, Marketplace: 1}),
		command.Attempt{ID: [16]byte{1}, Seen: m.turn() + 1})
	m.want("of a copy that cannot be", ahead, command.Invalid, 150)
}

// After more attempts than are kept, the first ones are dropped although no clock has moved: the state stays bounded,
// and repeats of the dropped ones are refused.
func TestAttemptsAreBounded(t *testing.T) {
	const kept = 65_536
	m := newManaged(t)
	first, second := m.patch(1), m.patch(2)
	m.Apply(first)
	m.Apply(second)
	for n := 3; n <= kept; n++ {
		m.last++
		a := command.Attempt{Seen: uint64(n - 1)}
		binary.BigEndian.PutUint32(a.ID[:], m.last)
		m.Apply(command.AppendAttempt(command.AppendDeleteCatalog(nil, benchNow, &command.DeleteCatalog{Marketplace: 1}), a))
	}
	m.Commit()
	expect(t, "remembered", m.remembered(), kept)
	m.want("the first of all", first, command.Done, 2)
	m.want("one more", m.patch(3), command.Done, 3)
	expect(t, "remembered", m.remembered(), kept)
	m.want("the first of all", first, command.Expired, 3)
	m.want("the second of all", second, command.Done, 3)
	again := open(t, m.KV)
	expect(t, "digest after a restart", again.Machine.Digest(), m.Machine.Digest())
	m.ticks(256)
	expect(t, "remembered when nobody manages", m.remembered(), 0)
}
