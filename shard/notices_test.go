package shard_test

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

func notice(n byte, value string) *command.Notice {
	return &command.Notice{Marketplace: 1, ID: ids.UUID{'n', n}, Value: []byte(value)}
}

// storedNotices are the values of the notices in the state, in the order of their ids.
func storedNotices(r *shardtest.Replica) (all []string) {
	stored, _ := r.Queries().Notices(1, 100)
	for i := range stored {
		all = append(all, string(stored[i].Value))
	}
	return all
}

func expectNotices(t *testing.T, when string, r *shardtest.Replica, want ...string) {
	t.Helper()
	got := storedNotices(r)
	if len(got) != len(want) {
		t.Fatalf("%s: the notices are %q, want %q", when, got, want)
	}
	for i := range want {
		expect(t, when, got[i], want[i])
	}
}

// A notice is stored by the command that makes the change, once, and by no command that makes none. It is there after
// a restart, until it is removed.
func TestANoticeIsStoredWithItsChange(t *testing.T) {
	r := open(t, shardtest.NewKV())
	do := func(cmd []byte) command.Refusal { return result(t, r.Do(cmd)).Refusal }
	id := campaign(1, "v", 1).ID
	do(setFeature(command.LevelNewest))
	expect(t, "create", do(command.AppendNotice(create(1, "v", 1, 100), notice(1, "created"))), command.Done)
	expect(t, "create again", do(command.AppendNotice(create(1, "v", 1, 100), notice(2, "created again"))), command.Done)

	put := command.AppendPutBids(nil, benchNow, &command.PutBids{
		Campaign: id, Marketplace: 1, Bids: []model.Bid{{ID: ids.UUID{7}, Target: "p", Amount: 5}},
	})
	expect(t, "bids", do(command.AppendNotice(append([]byte{}, put...), notice(3, "bids"))), command.Done)
	expect(t, "bids again", do(command.AppendNotice(put, notice(4, "bids again"))), command.Done)
	bid := command.PatchBid{Campaign: id, Marketplace: 1, Bid: ids.UUID{7}, Delete: true}
	expect(t, "delete", do(command.AppendNotice(command.AppendPatchBid(nil, benchNow, &bid), notice(5, "bid deleted"))), command.Done)
	expect(t, "delete again", do(command.AppendNotice(command.AppendPatchBid(nil, benchNow, &bid), notice(6, "again"))), command.NotFound)

	end := command.PatchCampaign{Campaign: id, Marketplace: 1, Status: new(model.Terminated)}
	expect(t, "end", do(command.AppendNotice(command.AppendPatchCampaign(nil, benchNow, &end), notice(7, "ended"))), command.Done)
	expect(t, "end again", do(command.AppendNotice(command.AppendPatchCampaign(nil, benchNow, &end), notice(8, "again"))), command.Done)
	want := []string{"created", "bids", "bid deleted", "ended"}
	expectNotices(t, "after all", r, want...)
	again := open(t, r.KV.Copy())
	expectNotices(t, "after a restart", again, want...)

	forget := command.ForgetNotices{Marketplace: 1, IDs: []ids.UUID{{'n', 1}, {'n', 99}, {'n', 3}, {'n', 3}}}
	expect(t, "forget", do(command.AppendForgetNotices(nil, benchNow, &forget)), command.Done)
	expectNotices(t, "after two are removed", r, "bid deleted", "ended")
	forget.Marketplace = 2
	forget.IDs = []ids.UUID{{'n', 5}}
	expect(t, "forget for another marketplace", do(command.AppendForgetNotices(nil, benchNow, &forget)), command.Done)
	expectNotices(t, "after that", r, "bid deleted", "ended")
}

// A repeat of an attempt leaves no second notice, also when the first was removed meanwhile.
func TestARepeatedAttemptLeavesNoSecondNotice(t *testing.T) {
	m := newManaged(t)
	patch := command.AppendPatchCampaign(nil, benchNow, &command.PatchCampaign{Campaign: m.campaign.ID, Marketplace: 1, Active: new(false)})
	cmd := command.AppendAttempt(command.AppendNotice(patch, notice(1, "paused")), command.Attempt{ID: [16]byte{9}, Seen: m.turn()})
	for range 2 {
		m.want("pause", cmd, command.Done, 100)
		expectNotices(t, "after the attempt", m.Replica, "paused")
	}
	m.Do(command.AppendForgetNotices(nil, benchNow, &command.ForgetNotices{Marketplace: 1, IDs: []ids.UUID{{'n', 1}}}))
	m.want("pause once more", cmd, command.Done, 100)
	expectNotices(t, "after the repeat", m.Replica)
}

// The notices of a marketplace are bounded. Beyond the bound changes are made without theirs, also after a restart, and
// removing notices makes room again.
func TestNoticesAreBounded(t *testing.T) {
	m := newManaged(t)
	n := 0
	change := func() {
		n++
		x := notice(0, "")
		x.ID[2], x.ID[3], x.Value = byte(n>>8), byte(n), make([]byte, command.NoticeMax)
		patch := command.PatchCampaign{Campaign: m.campaign.ID, Marketplace: 1, Budget: new(micros(n))}
		m.want("change", command.AppendNotice(command.AppendPatchCampaign(nil, benchNow, &patch), x), command.Done, int64(n))
	}
	const most = 16 << 20 / command.NoticeMax
	for range most + 1 {
		change()
	}
	expect(t, "notices", len(storedNotices(m.Replica)), most)
	m.Replica = open(t, m.KV)
	change()
	expect(t, "notices after a restart", len(storedNotices(m.Replica)), most)
	m.Do(command.AppendForgetNotices(nil, benchNow, &command.ForgetNotices{Marketplace: 1, IDs: []ids.UUID{{'n', 0, 0, 1}}}))
	change()
	change()
	expect(t, "notices after one was removed", len(storedNotices(m.Replica)), most)
}

// Below the level a command with a notice is refused, so that binaries that do not know notices stay equal.
func TestNoticesNeedTheirLevel(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(setFeature(command.LevelNotices - 1))
	with := func() []byte { return command.AppendNotice(create(1, "v", 1, 100), notice(1, "created")) }
	expect(t, "below", result(t, r.Do(with())).Refusal, command.TooEarly)
	forget := command.AppendForgetNotices(nil, benchNow, &command.ForgetNotices{Marketplace: 1})
	expect(t, "forget, below", result(t, r.Do(forget)).Refusal, command.TooEarly)
	expectNotices(t, "below", r)
	r.Do(setFeature(command.LevelNotices))
	expect(t, "at the level", result(t, r.Do(with())).Refusal, command.Done)
	expectNotices(t, "at the level", r, "created")
}
