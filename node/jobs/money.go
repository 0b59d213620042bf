package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ledger"
)

// moneyMax is how many transfers and emptied wallets of one marketplace and group are read in one round. BOUND: one marketplace
// must not delay the others, as with dueMax.
const moneyMax = 100

// transitAge is how old a transfer has to be before the leader completes it: by then its own request should have done so. Two
// that complete the same transfer do no harm.
const transitAge = 3 * time.Second

// MoneyRecovery completes what commands in several groups left unfinished: transfers between two groups that were begun and not
// ended, because a node stopped in between, and notifications of wallets that charges emptied. The command that makes the work
// necessary records it in its own group, and every step may be repeated.
type MoneyRecovery struct {
	Store        *store.Store
	Leader       func() bool
	Marketplaces func() []uint16
	Now          func() time.Time
	Log          *slog.Logger
	Observe      func([]TransitSummary) // Called with the transfers in transit that each round found, and with nil while this node is not the leader. It may be nil.
}

// TransitSummary describes the transfers of a marketplace that are in transit, at most moneyMax of each group.
type TransitSummary struct {
	Marketplace  uint16
	Transfers    int
	Micros       int64
	OldestMillis int64 // When the oldest was requested, in Unix milliseconds.
}

// transitMax is how many marketplaces a round reports. BOUND: each becomes three metric series.
const transitMax = 256

// Run does a round every second until the context ends.
func (m *MoneyRecovery) Run(ctx context.Context) {
	ticker := time.NewTicker(Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if m.Leader() {
			m.Round(ctx)
		} else {
			m.observe(nil)
		}
	}
}

// Round handles all marketplaces once.
func (m *MoneyRecovery) Round(ctx context.Context) {
	var found []TransitSummary
	for _, ordinal := range m.Marketplaces() {
		t := m.Store.Tenant(ordinal)
		transit := TransitSummary{Marketplace: ordinal}
		complete := func(ctx context.Context, t store.Tenant) error { return m.completeTransfers(ctx, t, &transit) }
		for what, do := range map[string]func(context.Context, store.Tenant) error{"transfer": complete, "emptied wallet": notifyEmptied} {
			if err := do(ctx, t); err != nil && ctx.Err() == nil {
				m.Log.Warn("transfer_recovery_failed", slog.String("what", what), slog.Any("err", err))
			}
		}
		if transit.Transfers > 0 && len(found) < transitMax {
			found = append(found, transit)
		}
	}
	m.observe(found)
}

func (m *MoneyRecovery) observe(all []TransitSummary) {
	if m.Observe != nil {
		m.Observe(all)
	}
}

func (x *TransitSummary) add(t *ledger.Transfer) {
	if x.Transfers == 0 || t.Millis < x.OldestMillis {
		x.OldestMillis = t.Millis
	}
	x.Transfers++
	x.Micros += int64(t.Amount)
}

func (m *MoneyRecovery) completeTransfers(ctx context.Context, t store.Tenant, found *TransitSummary) error {
	all, err := t.TransfersInTransit(ctx, moneyMax)
	for i := range all {
		found.add(&all[i])
		if m.Now().UnixMilli()-all[i].Millis < transitAge.Milliseconds() {
			continue
		}
		if failed := t.CompleteTransfer(ctx, &all[i]); failed != nil {
			err = failed
		}
	}
	return err
}

func notifyEmptied(ctx context.Context, t store.Tenant) error {
	all, err := t.Emptied(ctx, moneyMax)
	for i := range all {
		if failed := t.NotifyEmptied(ctx, &all[i]); failed != nil {
			err = failed
		}
	}
	return err
}
