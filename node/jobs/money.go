package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/gavel-ads/gavel/node/store"
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
}

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
		}
	}
}

// Round looks once at all marketplaces.
func (m *Money) Round(ctx context.Context) {
	for _, ordinal := range m.Marketplaces() {
		t := m.Store.Tenant(ordinal)
		for what, do := range map[string]func(context.Context, store.Tenant) error{"transfer": m.carry, "emptied wallet": tell} {
			if err := do(ctx, t); err != nil && ctx.Err() == nil {
				m.Log.Warn("money_left", slog.String("what", what), slog.Any("err", err))
			}
		}
	}
}

func (m *Money) carry(ctx context.Context, t store.Tenant) error {
	all, err := t.Transit(ctx, moneyMax)
	for i := range all {
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
