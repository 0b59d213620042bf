package billing_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/jobs"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/money"
)

// newEnvironment is an environment with a vendor's wallet of 10,000 and a ledger account in another group.
func newEnvironment(t *testing.T) (w *managetest.Environment, m store.Tenant, wallet, account ledger.Wallet) {
	t.Helper()
	w = managetest.New(t)
	m = w.Store.Tenant(managetest.Main)
	_, err := m.Adjust(t.Context(), "v1", ids.UUID{}, 10_000, false, "")
	check(t, err)
	all, err := m.Wallets(t.Context(), "v1")
	check(t, err)
	account, err = m.OpenLedgerAccount(t.Context(), "promotions", "EUR")
	check(t, err)
	if g := w.Store.Groups; g.GroupOf(ids.ShardOf(all[0].ID)) == g.GroupOf(ids.ShardOf(account.ID)) {
		t.Fatal("both accounts are in one group")
	}
	return w, m, all[0], account
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func balances(t *testing.T, m store.Tenant, names ...string) (all []money.Micros) {
	t.Helper()
	for _, name := range names {
		a, err := m.Account(t.Context(), name)
		check(t, err)
		all = append(all, a.Balance)
	}
	return all
}

func expect(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := encoded(got), encoded(want); g != w {
		t.Errorf("%s: %s, want %s", what, g, w)
	}
}

func encoded(x any) string {
	b, _ := json.Marshal(x)
	return string(b)
}

// TestBegunTransferArrives: a node stops after it has taken the money of a transfer to another group. The leader completes it once, however
// many leaders there are, and only after the node that received the request had its time.
func TestBegunTransferArrives(t *testing.T) {
	w, m, wallet, account := newEnvironment(t)
	for n := range byte(3) {
		cmd := command.AppendTransfer(nil, w.Now().UnixMilli(), &command.Transfer{
			ID: ids.Mint(1, [10]byte{n}, ids.ShardOf(wallet.ID)), Step: command.TransferSend, Marketplace: managetest.Main,
			From: wallet.ID, To: account.ID, Amount: 1_000,
		})
		_, _, err := w.Store.Groups.ProposeAt(t.Context(), w.Store.Groups.GroupOf(ids.ShardOf(wallet.ID)), cmd)
		check(t, err)
	}
	names := []string{wallet.ID.String(), account.Name}
	w.Recovery().Round(t.Context())
	expect(t, "at first", balances(t, m, names...), []int{7_000, 0})
	var found []jobs.TransitSummary
	recovery := w.Recovery()
	recovery.Observe = func(all []jobs.TransitSummary) { found = all }
	recovery.Round(t.Context())
	if len(found) != 1 || found[0].Marketplace != managetest.Main || found[0].Transfers != 3 || found[0].Micros != 3_000 {
		t.Errorf("on their way: %+v", found)
	}
	w.Advance(4 * time.Second)
	var leaders sync.WaitGroup
	for range 3 {
		leaders.Go(func() { w.Recovery().Round(t.Context()) })
	}
	leaders.Wait()
	expect(t, "carried", balances(t, m, names...), []int{7_000, 3_000})
	left, err := m.TransfersInTransit(t.Context(), 10)
	check(t, err)
	expect(t, "on their way", len(left), 0)
	recovery.Round(t.Context())
	expect(t, "reported as in transit", len(found), 0)
	all, _, err := m.Transfers(t.Context(), shard.Span{}, store.Page{Limit: 10})
	check(t, err)
	for i := range all {
		expect(t, "state", all[i].State, ledger.Completed)
	}
}

// TestRefusedTransferComesBack: money that the other group cannot accept is returned.
func TestRefusedTransferComesBack(t *testing.T) {
	w, m, wallet, account := newEnvironment(t)
	nowhere := account
	nowhere.ID[0]++ // An account of the other group that does not exist.
	_, err := m.Transfer(t.Context(), &wallet, &nowhere, 1_000, "")
	if err == nil {
		t.Error("an account that does not exist has received money")
	}
	expect(t, "balance", balances(t, m, wallet.ID.String()), []int{10_000})
	entries, _, err := m.Entries(t.Context(), wallet.ID, shard.Span{}, store.Page{Limit: 10})
	check(t, err)
	if len(entries) != 3 || entries[0].Kind != ledger.TransferReturned || entries[0].Amount != 1_000 || entries[1].Amount != -1_000 {
		t.Errorf("entries %+v", entries)
	}
	w.Recovery().Round(t.Context())
	left, err := m.TransfersInTransit(t.Context(), 10)
	check(t, err)
	expect(t, "on their way", len(left), 0)
}

// TestEmptiedWalletIsNotifiedOnce: each emptying of a wallet is notified once, also when the notifier fails between the two groups, and
// again after the wallet had money.
func TestEmptiedWalletIsNotifiedOnce(t *testing.T) {
	w, m, wallet, _ := newEnvironment(t)
	hook := store.Webhook{Channel: store.ChannelWallet, URL: "https://receiver.example.com/"}
	check(t, m.CreateWebhook(t.Context(), &hook))
	notices := func() []store.Delivery {
		w.Recovery().Round(t.Context())
		all, err := m.Deliveries(t.Context(), hook.ID, 10)
		check(t, err)
		return all
	}
	burn := func(amount money.Micros) {
		t.Helper()
		_, err := m.Adjust(t.Context(), "v1", ids.UUID{}, amount, false, "")
		check(t, err)
	}
	burn(-9_999)
	expect(t, "notices of a wallet that has money", len(notices()), 0)
	burn(-1)
	again, err := m.Emptied(t.Context(), 10)
	check(t, err)
	first := notices()
	expect(t, "notices", len(first), 1)
	check(t, m.NotifyEmptied(t.Context(), &again[0]))
	burn(-5) // It is empty already.
	expect(t, "notices after a repetition", len(notices()), 1)
	var body struct {
		Channel string
		ID      string
		Payload struct {
			WalletID string `json:"wallet_id"`
			VendorID string `json:"vendor_id"`
		}
	}
	check(t, json.Unmarshal(first[0].Body, &body))
	if body.Channel != "wallet:empty" || body.ID != first[0].ID.String() || body.Payload.WalletID != wallet.ID.String() || body.Payload.VendorID != "v1" {
		t.Errorf("notified %s", first[0].Body)
	}
	burn(+10)
	burn(-10)
	expect(t, "notices after it was filled and emptied again", len(notices()), 2)
}
