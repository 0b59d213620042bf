package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ledger"
)

// moneyMax is how many transfers and emptied wallets of one marketplace and group are looked at in one round. BOUND: as
// dueMax.
const moneyMax = 100

// transitAge is how long whoever asked for a transfer may take to carry it through. Two that carry the same one do no harm.
const transitAge = 3 * time.Second

// Money does what the books of the groups leave to be done: transfers between two groups that were begun and not ended,
// because a node died in between, and notices of wallets that were emptied by charges. Both stand in the state of the group
// that has to be told, written by the command that made them necessary, and every step of both may be repeated.
type Money struct {
	Store        *store.Store
	Leader       func() bool
	Marketplaces func() []uint16
	Now          func() time.Time
	Log          *slog.Logger
	Found        func([]Transit) // Hears what each round found on its way, and nothing when this node does not lead any more; may be nil.
}

// Transit is the transfers of a marketplace that are on their way, at most moneyMax of each group.
type Transit struct {
	Marketplace  uint16
	Transfers    int
	Micros       int64
	OldestMillis int64 // When the oldest was asked for.
}

// transitMax is of how many marketplaces a round tells. BOUND: each becomes three series of metrics.
const transitMax = 256

// Run works until the context ends.
func (m *Money) Run(ctx context.Context) {
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
			m.found(nil)
		}
	}
}

// Round looks once at all marketplaces.
func (m *Money) Round(ctx context.Context) {
	var found []Transit
	for _, ordinal := range m.Marketplaces() {
		t := m.Store.Tenant(ordinal)
		transit := Transit{Marketplace: ordinal}
		carry := func(ctx context.Context, t store.Tenant) error { return m.carry(ctx, t, &transit) }
		for what, do := range map[string]func(context.Context, store.Tenant) error{"transfer": carry, "emptied wallet": tell} {
			if err := do(ctx, t); err != nil && ctx.Err() == nil {
				m.Log.Warn("money_left", slog.String("what", what), slog.Any("err", err))
			}
		}
		if transit.Transfers > 0 && len(found) < transitMax {
			found = append(found, transit)
		}
	}
	m.found(found)
}

func (m *Money) found(all []Transit) {
	if m.Found != nil {
		m.Found(all)
	}
}

func (x *Transit) add(t *ledger.Transfer) {
	if x.Transfers == 0 || t.Millis < x.OldestMillis {
		x.OldestMillis = t.Millis
	}
	x.Transfers++
	x.Micros += int64(t.Amount)
}

func (m *Money) carry(ctx context.Context, t store.Tenant, found *Transit) error {
	all, err := t.Transit(ctx, moneyMax)
	for i := range all {
		found.add(&all[i])
		if m.Now().UnixMilli()-all[i].Millis < transitAge.Milliseconds() {
			continue
		}
		if failed := t.Carry(ctx, &all[i]); failed != nil {
			err = failed
		}
	}
	return err
}

func tell(ctx context.Context, t store.Tenant) error {
	all, err := t.Emptied(ctx, moneyMax)
	for i := range all {
		if failed := t.TellEmptied(ctx, &all[i]); failed != nil {
			err = failed
		}
	}
	return err
}
