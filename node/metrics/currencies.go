package metrics

import (
	"maps"
	"sync"
	"sync/atomic"
)

// currenciesMax is the number of currencies that are counted apart. BOUND: every stripe holds two words for each.
const currenciesMax = 32

// otherCurrencies is the slot of the currencies beyond currenciesMax, and their label.
const (
	otherSlot       = 0
	otherCurrencies = "other"
)

// currencies assigns a slot of the stripes to each currency in which money was counted. Marketplaces choose their
// currencies while the node runs, so the slots cannot be assigned before. It is safe for concurrent use; a look-up of a
// known currency takes no lock.
type currencies struct {
	slots atomic.Pointer[map[string]int]
	mu    sync.Mutex // Held to add a currency.
}

func newCurrencies() *currencies {
	c := &currencies{}
	c.slots.Store(&map[string]int{otherCurrencies: otherSlot})
	return c
}

// slot returns the slot of a currency, which is assigned at the first call.
func (c *currencies) slot(code string) int {
	if slot, known := (*c.slots.Load())[code]; known {
		return slot
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := *c.slots.Load()
	if slot, found := known[code]; found {
		return slot
	}
	if len(known) == currenciesMax {
		return otherSlot
	}
	more := maps.Clone(known)
	more[code] = len(known)
	c.slots.Store(&more)
	return len(known)
}

// all returns the slots by currency. The caller must not change the map.
func (c *currencies) all() map[string]int { return *c.slots.Load() }
