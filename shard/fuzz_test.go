package shard_test

import (
	"errors"
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/pacing"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// FuzzApply applies commands with a valid checksum and any body. The machine may refuse or apply them. It must not
// panic, because that would stop every replica at the same command, and the resulting state must load again.
func FuzzApply(f *testing.F) {
	for _, cmd := range [][]byte{
		deposit(1, "v", 1_000), create(1, "v", 1, 500),
		command.AppendEvents(nil, benchNow, &command.Events{Marketplace: 1, Records: []command.EventRecord{click(1, 1)}}),
		command.AppendPutProducts(nil, benchNow, &command.PutProducts{Marketplace: 1, Products: []model.Product{{ID: "p", Vendors: []string{"v"}}}}),
		command.AppendPutCategories(nil, benchNow, &command.PutCategories{Marketplace: 1, Categories: []model.Category{{ID: "c", ParentID: "c"}}}),
		command.AppendAdvance(nil, benchNow+31*day, &command.Advance{Periods: []command.Periods{{Marketplace: 1, Day: 9}}}),
		command.AppendPatchCampaign(nil, benchNow, &command.PatchCampaign{Campaign: campaign(1, "v", 1).ID, Marketplace: 1, Budget: new(micros(7))}),
		command.AppendPutRecords(nil, benchNow, &command.PutRecords{Records: []command.Record{{Kind: 1, ID: "k", Value: []byte("v"), Class: "c"}}}),
		command.AppendOpenAccount(nil, benchNow, &command.OpenAccount{Account: ids.LedgerAccountOf(1, "a"), Marketplace: 1, Name: "a", Currency: "EUR"}),
		command.AppendTransfer(nil, benchNow, &command.Transfer{
			ID: ids.UUID{1}, Marketplace: 1, From: ids.DefaultWalletOf(1, "v"), To: ids.LedgerAccountOf(1, "a"), Amount: 7,
		}),
		command.AppendTransfer(nil, benchNow, &command.Transfer{
			ID: ids.UUID{1}, Step: command.TransferSend, Marketplace: 1, From: ids.DefaultWalletOf(1, "v"), To: ids.UUID{2}, Amount: 7,
		}),
		command.AppendForgetEmptied(nil, benchNow, &command.ForgetEmptied{Marketplace: 1, Wallet: ids.DefaultWalletOf(1, "v"), Number: 1}),
		command.AppendPace(nil, benchNow, &command.Pace{
			Number: 1, Counted: []command.CountedReport{{Node: 1, Start: 2, Number: 3}},
			Campaigns: []command.Paced{{Campaign: 1, Word: pacing.Open, Hold: 7, Memory: pacing.Memory{AtMillis: benchNow}}},
		}),
		command.AppendBootstrap(nil, benchNow, &command.Bootstrap{Marketplace: model.Marketplace{Ordinal: 1}}),
	} {
		f.Add(cmd, cmd)
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		r := open(t, shardtest.NewKV())
		r.Do(setFeature(command.LevelNewest))
		r.Do(deposit(1, "v", 1_000))
		r.Do(create(1, "v", 1, 500))
		for _, cmd := range [][]byte{first, second} {
			if len(cmd) < command.HeaderLen {
				continue
			}
			cmd = append([]byte{command.Version, cmd[1]%byte(command.OpPace) + 1, 0, cmd[3] % byte(command.LevelNewest+1)}, cmd[4:]...)
			cmd = shardtest.Reseal(cmd)
			if _, err := command.Open(cmd); !errors.Is(err, command.ErrUnknownVersion) { // The body sets an unknown level.
				r.Apply(cmd)
			}
		}
		r.Commit()
		check(t, r.Queries().Verify())
		if again := open(t, r.KV); again.Machine.Digest() != r.Machine.Digest() {
			t.Fatal("another digest after a restart")
		}
	})
}
