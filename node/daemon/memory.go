package daemon

import (
	"context"
	"log/slog"
	"runtime/metrics"
	"time"

	"github.com/gavel-ads/gavel/node/hugepages"
)

const (
	// hugeFrom is the heap from which huge pages are asked for: what is smaller finds its translations without them, and a small
	// node should not take more memory than it needs.
	hugeFrom = 64 << 20
	// hugeEvery is how often memory that was mapped since is looked for.
	hugeEvery = time.Minute
)

// useHugePages has the memory that is there moved into huge pages, before the doors open and auctions would feel it, and asks for
// them for what comes later.
func (n *node) useHugePages() {
	moved := n.moveToHugePages(false)
	done := make(chan struct{})
	n.push("huge pages", func(context.Context) error { close(done); return nil })
	go func() {
		ticker := time.NewTicker(hugeEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				moved = n.moveToHugePages(moved)
			}
		}
	}()
}

// moveToHugePages moves what is there once, when the heap is large enough, and from then on only asks. It reports whether it
// has moved anything yet.
func (n *node) moveToHugePages(moved bool) bool {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	if metrics.Read(heap); heap[0].Value.Uint64() < hugeFrom {
		return moved
	}
	ask := hugepages.Collapse
	if moved {
		ask = hugepages.Advise
	}
	pages, err := ask()
	if err != nil {
		n.log.Warn("huge_pages_refused", slog.Any("err", err)) // Everything works without them.
		return moved
	}
	if !moved {
		n.log.Info("huge_pages", slog.Int("pages", pages.Collapsed), slog.Int("refused", pages.Refused))
	}
	return true
}
