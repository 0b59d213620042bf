package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/gavel-ads/gavel/node/store"
)

// noticesMax is how many notices of one marketplace and group are moved in one round. BOUND: as moneyMax.
const noticesMax = 100

// NoticeMover moves the notices that commands have stored in the groups of their campaigns into the list of deliveries,
// which DeliveryWorker sends.
type NoticeMover struct {
	Store        *store.Store
	Leader       func() bool
	Marketplaces func() []uint16
	Log          *slog.Logger
}

// Run does a round every second until the context ends, and the next one at once while there is more to move.
func (m *NoticeMover) Run(ctx context.Context) {
	ticker := time.NewTicker(Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for more := true; more; {
			more = m.Leader() && m.Round(ctx) >= noticesMax && ctx.Err() == nil
		}
	}
}

// Round moves the notices of all marketplaces once, and returns how many it moved.
func (m *NoticeMover) Round(ctx context.Context) (moved int) {
	for _, ordinal := range m.Marketplaces() {
		n, err := m.Store.Tenant(ordinal).MoveNotices(ctx, noticesMax)
		moved += n
		if err != nil && ctx.Err() == nil {
			m.Log.Warn("notices_not_moved", slog.Int("marketplace", int(ordinal)), slog.Any("err", err))
		}
	}
	return moved
}
