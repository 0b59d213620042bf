package shard_test

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// A withdrawal takes from the wallets in their order, all of it or nothing, once; every wallet has its line, and a wallet
// below zero gives nothing.
func TestWithdrawalFromSeveralWallets(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(setFeature(command.LevelReports))
	first := ids.DefaultWalletOf(1, "v")
	wallet := func(n byte) (id ids.UUID) {
		id = ids.UUID{'w', n}
		id[15] = byte(ids.ShardOf(ids.AccountOf(1, "v")))
		return id
	}
	request := byte(0)
	adjust := func(id ids.UUID, amount micros, strict bool, others ...ids.UUID) command.Result {
		request++
		return result(t, r.Do(command.AppendAdjustWallet(nil, benchNow, &command.AdjustWallet{
			Request: ids.UUID{'r', request}, Marketplace: 1, VendorID: "v", Wallet: id, Amount: amount, Strict: strict, Others: others,
		})))
	}
	for n := byte(1); n <= 2; n++ {
		r.Do(command.AppendOpenAccount(nil, benchNow, &command.OpenAccount{
			Request: ids.UUID{'o', n}, Account: wallet(n), Marketplace: 1, VendorID: "v", Name: "n",
		}))
	}
	balances := func() (all [3]micros) {
		for i, id := range []ids.UUID{first, wallet(1), wallet(2)} {
			w, _ := r.Queries().Wallet(id)
			all[i] = w.Balance
		}
		check(t, r.Queries().Verify())
		return all
	}
	adjust(first, 100, false)
	adjust(wallet(1), -30, false)
	adjust(wallet(2), 300, false)
	expect(t, "before", balances(), "[100 -30 300]")
	expect(t, "more than there is", adjust(first, -401, true, wallet(1), wallet(2)).Refusal, command.InsufficientBalance)
	expect(t, "somebody else's", adjust(first, -101, true, ids.UUID{'x'}).Refusal, command.NotFound)
	expect(t, "one twice", adjust(first, -101, true, wallet(2), wallet(2)).Refusal, command.Invalid)
	expect(t, "a deposit", adjust(first, 5, true, wallet(2)).Refusal, command.Invalid)
	expect(t, "nothing was taken", balances(), "[100 -30 300]")

	expect(t, "taken", adjust(first, -150, true, wallet(1), wallet(2)).Refusal, command.Done)
	expect(t, "after it", balances(), "[0 -30 250]")
	request--
	expect(t, "a repeat", adjust(first, -150, true, wallet(1), wallet(2)), command.Result{})
	expect(t, "after a repeat", balances(), "[0 -30 250]")
	var lines []micros
	r.Queries().Journal(0, func(l *ledger.Line) bool {
		if l.Key == (ids.UUID{'r', request}) {
			lines = append(lines, l.Amount)
		}
		return true
	})
	expect(t, "lines", lines, "[-100 -50]")
}
