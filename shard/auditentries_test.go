package shard_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// audited makes a command carry an entry of the audit log.
func audited(cmd []byte, id, value string) []byte {
	return command.AppendAuditEntry(cmd, &command.AuditEntry{Marketplace: 1, ID: id, Value: []byte(value)})
}

// auditEntries are the entries in the state, each as id=value, in the order of their ids.
func auditEntries(r *shardtest.Replica) (all []string) {
	stored, _ := r.Queries().Records(command.RecordAudit, 1, "", 100)
	for i := range stored {
		all = append(all, stored[i].ID+"="+string(stored[i].Value))
	}
	return all
}

func expectEntries(t *testing.T, when string, r *shardtest.Replica, want ...string) {
	t.Helper()
	if got := auditEntries(r); !slices.Equal(got, want) {
		t.Fatalf("%s: the entries are %q, want %q", when, got, want)
	}
}

// An entry is stored by the command that makes the change, and by no command that is refused or is the repeat of a
// change. It is there after a restart.
func TestAnAuditEntryIsStoredWithItsChange(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(setFeature(command.LevelNewest))
	id, of := campaign(1, "v", 1).ID, ids.LedgerAccountOf(1, "a")
	transfer := func() []byte {
		return command.AppendTransfer(nil, benchNow, &command.Transfer{
			ID: ids.UUID{'t'}, Marketplace: 1, From: ids.DefaultWalletOf(1, "v"), To: of, Amount: 7,
		})
	}
	opening := func(account ids.UUID, vendor string) []byte {
		a := command.OpenAccount{Request: ids.UUID{'o', account[0]}, Account: account, Marketplace: 1, VendorID: vendor, Name: "a", Currency: "EUR"}
		return command.AppendOpenAccount(nil, benchNow, &a)
	}
	wallet := ids.UUID{'w', 15: byte(ids.ShardOf(ids.AccountOf(1, "v")))}
	patch := func(p command.PatchCampaign) []byte {
		p.Campaign, p.Marketplace = id, 1
		return command.AppendPatchCampaign(nil, benchNow, &p)
	}
	define := func(drop bool) []byte {
		d := command.DefineSegment{Marketplace: 1, Segment: "s", Definition: [16]byte{1}, Drop: drop}
		return command.AppendDefineSegment(nil, benchNow, &d)
	}
	segment := command.AppendCommitSegment(nil, benchNow, &command.CommitSegment{
		Marketplace: 1, Segment: "u", Upload: ids.UUID{1}, Action: command.SegmentReplace,
	})
	bid := command.AppendPutBids(nil, benchNow, &command.PutBids{
		Campaign: id, Marketplace: 1, Bids: []model.Bid{{ID: ids.UUID{7}, Target: "p", Amount: 5}},
	})
	var want []string
	for i, x := range []struct {
		name     string
		cmd      []byte
		answer   command.Refusal
		recorded bool
	}{
		{"deposit", deposit(1, "v", 1_000), command.Done, true},
		{"deposit again", deposit(1, "v", 1_000), command.Done, false},
		{"withdraw too much", command.AppendAdjustWallet(nil, benchNow, &command.AdjustWallet{
			Request: ids.UUID{'r', 2}, Marketplace: 1, VendorID: "v", Amount: -2_000, Strict: true,
		}), command.InsufficientBalance, false},
		{"open an account", opening(of, ""), command.Done, true},
		{"open it again", opening(of, ""), command.Done, false},
		{"open a wallet", opening(wallet, "v"), command.Done, true},
		{"open it again", opening(wallet, "v"), command.Done, false},
		{"open the default wallet", opening(ids.DefaultWalletOf(1, "v"), "v"), command.Done, false},
		{"transfer", transfer(), command.Done, true},
		{"transfer again", transfer(), command.Done, false},
		{"create", create(1, "v", 1, 100), command.Done, true},
		{"create again", create(1, "v", 1, 100), command.Done, false},
		{"add a bid", bid, command.Done, true},
		{"add it again", bid, command.Done, false},
		{"pause", patch(command.PatchCampaign{Active: new(false)}), command.Done, true},
		{"end", patch(command.PatchCampaign{Status: new(model.Terminated)}), command.Done, true},
		{"end again", patch(command.PatchCampaign{Status: new(model.Terminated)}), command.Done, false},
		{"change after the end", patch(command.PatchCampaign{Active: new(true)}), command.WrongState, false},
		{"upload users", segment, command.Done, true},
		{"upload them again", segment, command.Done, false},
		{"define a segment", define(false), command.Done, true},
		{"define it again", define(false), command.Done, false},
		{"define it no more", define(true), command.Done, true},
		{"define it no more, again", define(true), command.Done, false},
		{"forget a user", command.AppendForgetUser(nil, benchNow, &command.ForgetUser{Marketplace: 1, User: 2}), command.Done, true},
	} {
		key := fmt.Sprintf("e%02d", i)
		answer := r.Do(audited(slices.Clone(x.cmd), key, x.name))
		expect(t, x.name, command.Refusal(answer[0]), x.answer)
		if x.recorded {
			want = append(want, key+"="+x.name)
		}
		expectEntries(t, "after: "+x.name, r, want...)
	}
	expectEntries(t, "after a restart", open(t, r.KV.Copy()), want...)
	check(t, r.Queries().Verify())
}

// A repeat of an attempt leaves no second entry, also when the first was pruned meanwhile.
func TestARepeatedAttemptLeavesNoSecondEntry(t *testing.T) {
	m := newManaged(t)
	patch := command.AppendPatchCampaign(nil, benchNow, &command.PatchCampaign{Campaign: m.campaign.ID, Marketplace: 1, Active: new(false)})
	cmd := command.AppendAttempt(audited(patch, "e", "paused"), command.Attempt{ID: [16]byte{9}, Seen: m.turn()})
	for range 2 {
		m.want("pause", cmd, command.Done, 100)
		expectEntries(t, "after the attempt", m.Replica, "e=paused")
	}
	prune := command.PutRecords{Records: []command.Record{{Kind: command.RecordAudit, Marketplace: 1, ID: "e", Expect: command.Any}}}
	expect(t, "prune", result(t, m.Do(command.AppendPutRecords(nil, benchNow, &prune))).Refusal, command.Done)
	m.want("pause once more", cmd, command.Done, 100)
	expectEntries(t, "after the repeat", m.Replica)
}

// Below the level a command with an entry is refused, so that binaries that do not know entries stay equal, and a group
// that is not the meta group stores no records. At the level it stores entries, and no other records.
func TestAuditEntriesNeedTheirLevel(t *testing.T) {
	r, err := shardtest.NewReplica(1, false, shardtest.NewKV())
	check(t, err)
	entry := command.Record{Kind: command.RecordAudit, Marketplace: 1, ID: "e2", Value: []byte("completed"), Expect: command.Any}
	other := command.Record{Kind: command.RecordAPIKey, Marketplace: 1, ID: "k", Value: []byte("key"), Expect: command.Any}
	put := func(all ...command.Record) command.Refusal {
		return result(t, r.Do(command.AppendPutRecords(nil, benchNow, &command.PutRecords{Records: all}))).Refusal
	}
	r.Do(setFeature(command.LevelAuditEntries - 1))
	with := func() []byte { return audited(deposit(1, "v", 5), "e1", "deposit") }
	expect(t, "below", result(t, r.Do(with())).Refusal, command.TooEarly)
	expect(t, "a record, below", put(entry), command.Invalid)
	expectEntries(t, "below", r)
	r.Do(setFeature(command.LevelAuditEntries))
	expect(t, "at the level", result(t, r.Do(with())).Refusal, command.Done)
	expect(t, "completed", put(entry), command.Done)
	expect(t, "another record", put(other), command.Invalid)
	expect(t, "another record beside an entry", put(entry, other), command.Invalid)
	expectEntries(t, "at the level", r, "e1=deposit", "e2=completed")
	entry.Value = nil
	expect(t, "pruned", put(entry), command.Done)
	expectEntries(t, "after one was pruned", r, "e1=deposit")
}
