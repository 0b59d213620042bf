package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

// Emptied lists emptied wallets whose notification is still to be queued, at most limit of each group.
func (t Tenant) Emptied(_ context.Context, limit int) (all []shard.Emptied, err error) {
	for _, g := range t.store.Groups.Groups() {
		some, err := read(t, g, func(b shard.Queries) []shard.Emptied { return b.Emptied(t.marketplace, limit) })
		if err != nil {
			return all, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// emptiedNotice is the payload of wallet:empty. Its member names are those of the other payloads.
type emptiedNotice struct {
	WalletID      string `json:"wallet_id"`
	MarketplaceID string `json:"marketplace_id"`
	VendorID      string `json:"vendor_id"`
	Name          string `json:"name"`
	IsDefault     bool   `json:"is_default"`
	Balance       int64  `json:"balance"` // At the time of the notification, in minor units.
	EmptiedAt     string `json:"emptied_at"`
}

// NotifyEmptied queues the notification of an emptied wallet and then removes the reminder. The two lie in different groups, so the
// process may end between them. The notification's id follows from the emptying, so it is queued once, however often this is called.
func (t Tenant) NotifyEmptied(ctx context.Context, e *shard.Emptied) error {
	m, w := t.Settings(), &e.Wallet
	seed := binary.BigEndian.AppendUint32(append([]byte("gavel/wallet:empty"), w.ID[:]...), e.Number)
	sum := sha256.Sum256(seed)
	records := t.noticesAs(ids.Mint(e.Millis, [10]byte(sum[:]), 0), ChannelWallet, emptiedNotice{
		w.ID.String(), m.ID.String(), w.VendorID, w.Name, w.Default, money.MinorFloor(w.Balance, m.CurrencyExponent), timeText(e.Millis),
	})
	if len(records) > 0 {
		if err := t.putRecords(ctx, records); err != nil && !errors.Is(err, ErrAlreadyExists) {
			return err
		}
	}
	f := command.ForgetEmptied{Marketplace: t.marketplace, Wallet: w.ID, Number: e.Number}
	_, err := t.propose(ctx, t.groupOfAccount(w.ID), command.AppendForgetEmptied(nil, t.now(), &f))
	return err
}
