package daemon

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/limits"
)

// supervisorWith returns a supervisor of a process with a limit of 1 GiB that has one memory use after the other, and what it did.
func supervisorWith(t *testing.T, log *output, uses ...limits.MemoryUse) (k *memorySupervisor, done *[]string, heaps *[]int64) {
	t.Helper()
	done, heaps = new([]string), new([]int64)
	pages := func(name string) func() (limits.HugePageStats, error) {
		return func() (limits.HugePageStats, error) { *done = append(*done, name); return limits.HugePageStats{}, nil }
	}
	shares := limits.Derive(limits.Machine{Files: 1_024, Memory: 1 << 30}, limits.Settings{})
	k = &memorySupervisor{
		memory: 1 << 30, shares: shares, heap: shares.Heap, log: slog.New(slog.NewJSONHandler(log, nil)),
		read: func() (limits.MemoryUse, error) {
			if len(uses) == 0 {
				return limits.MemoryUse{}, errors.ErrUnsupported
			}
			u := uses[0]
			uses = uses[min(1, len(uses)-1):] // The last one stays.
			return u, nil
		},
		setHeap: func(n int64) int64 { *heaps = append(*heaps, n); return 0 }, objects: func() uint64 { return hugePagesHeapMin }, live: func() uint64 { return 0 },
		garbage: 100, setGarbage: func(int) int { return 0 },
		collapse: pages("collapse"), advise: pages("advise"), forbid: pages("forbid"),
	}
	return k, done, heaps
}

const mib = 1 << 20

// A process that fits has its memory moved into huge pages once, and the advice repeated every minute.
func TestHugePagesOfAProcessThatFits(t *testing.T) {
	k, done, heaps := supervisorWith(t, &output{}, limits.MemoryUse{Resident: 300 * mib, Shared: 30 * mib, Mapped: 280 * mib})
	for range 2*hugePagesTicks + 1 {
		k.tick()
	}
	if want := []string{"collapse", "advise", "advise"}; !slices.Equal(*done, want) {
		t.Errorf("%q, want %q", *done, want)
	}
	if len(*heaps) != 0 {
		t.Errorf("the limit of the heap became %d", *heaps)
	}
}

// A process that has mapped as much as its limit gives huge pages up at once, for good, also for what it maps later; and its
// heap gets less by what is resident although the runtime has given it back.
func TestMemoryOfAProcessAtItsLimit(t *testing.T) {
	log := &output{}
	k, done, heaps := supervisorWith(t, log,
		limits.MemoryUse{Resident: 800 * mib, Shared: 40 * mib, Mapped: 800 * mib, Released: 40 * mib},
		limits.MemoryUse{Resident: 990 * mib, Shared: 40 * mib, Mapped: 1_100 * mib, Released: 200 * mib},
		limits.MemoryUse{Resident: 991 * mib, Shared: 40 * mib, Mapped: 1_100 * mib, Released: 200 * mib}, // One more is no reason.
		limits.MemoryUse{Resident: 940 * mib, Shared: 40 * mib, Mapped: 1_100 * mib, Released: 200 * mib},
	)
	for range hugePagesTicks + 2 {
		k.tick()
	}
	if want := []string{"collapse", "forbid", "forbid"}; !slices.Equal(*done, want) {
		t.Errorf("%q, want %q", *done, want)
	}
	if want := []int64{(960 - 90) * mib, 920 * mib}; !slices.Equal(*heaps, want) {
		t.Errorf("limits of the heap %d, want %d", *heaps, want)
	}
	if n := strings.Count(log.String(), "huge_pages_given_up"); n != 1 {
		t.Errorf("the log says so %d times", n)
	}
}

// A limit that the operator set by GOMEMLIMIT is left alone, and a system that does not tell what is resident gets advice only.
func TestMemoryThatIsNotKept(t *testing.T) {
	k, _, heaps := supervisorWith(t, &output{}, limits.MemoryUse{Resident: 990 * mib, Mapped: 1_100 * mib, Released: 300 * mib})
	k.chosen = true
	k.tick()
	if len(*heaps) != 0 {
		t.Errorf("the operator's limit became %d", *heaps)
	}
	k, done, heaps := supervisorWith(t, &output{})
	k.tick()
	if len(*heaps) != 0 || !slices.Equal(*done, []string{"collapse"}) {
		t.Errorf("limits %d, pages %q", *heaps, *done)
	}
}

// The heap of a large market grows by less than that of a small one before it is collected, unless the operator has set GOGC.
func TestGarbageIsBounded(t *testing.T) {
	for name, tuned := range map[string]bool{"by the node": false, "by the operator": true} {
		t.Run(name, func(t *testing.T) {
			k, _, _ := supervisorWith(t, &output{})
			live, set := uint64(0), []int(nil)
			k.tuned = tuned
			k.live = func() uint64 { return live }
			k.setGarbage = func(percent int) int { set = append(set, percent); return 0 }
			for _, mibs := range []uint64{10, 512, 530, 1_024, 1_050, 2_048, 100_000, 300} {
				live = mibs * mib
				k.tick()
			}
			want := []int{50, 25, 20, 100}
			if tuned {
				want = nil
			}
			if !slices.Equal(set, want) {
				t.Errorf("set to %d percent, want %d", set, want)
			}
		})
	}
}
