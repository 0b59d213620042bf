package limits

import (
	"runtime"
	"testing"
)

func TestHold(t *testing.T) {
	const mib = 1 << 20
	shares := Derive(Machine{Files: 1024, Memory: gib}, Settings{})
	for name, tc := range map[string]struct {
		use  MemoryUse
		heap int64
		huge bool
	}{
		"a small process": {MemoryUse{Resident: 200 * mib, Shared: 30 * mib, Mapped: 180 * mib, Released: 10 * mib}, shares.Heap, true},
		"all that is mapped could be resident": {
			MemoryUse{Resident: 900 * mib, Shared: 40 * mib, Mapped: 920 * mib, Released: 60 * mib}, 920 * mib, true,
		},
		"more is mapped than may be resident": {
			MemoryUse{Resident: 900 * mib, Shared: 40 * mib, Mapped: 921 * mib, Released: 61 * mib}, 920 * mib, false,
		},
		// As after 45 minutes of attacks: 250 MiB were given back and 85 MiB of them are resident all the same.
		"given back and resident": {
			MemoryUse{Resident: 1_016 * mib, Shared: 43 * mib, Mapped: 1_140 * mib, Released: 250 * mib}, (960 - 126) * mib, false,
		},
		"hardly anything is left for the heap": {
			MemoryUse{Resident: 1_400 * mib, Shared: 40 * mib, Mapped: 1_400 * mib, Released: 900 * mib}, 512 * mib, false,
		},
		"the runtime counts more than is resident": {
			MemoryUse{Resident: 100 * mib, Shared: 30 * mib, Mapped: 300 * mib, Released: 20 * mib}, shares.Heap, true,
		},
	} {
		heap, huge := shares.Hold(gib, tc.use)
		if heap != tc.heap || huge != tc.huge {
			t.Errorf("%s: heap of %d MiB, huge pages %v; want %d MiB, %v", name, heap/mib, huge, tc.heap/mib, tc.huge)
		}
	}
}

func TestReadMemoryUse(t *testing.T) {
	memory := make([]byte, 64<<20)
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = 1
	}
	u, err := ReadMemoryUse()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells what is resident")
	}
	if err != nil {
		t.Fatal(err)
	}
	if u.Resident < int64(len(memory)) || u.Mapped < int64(len(memory)) || u.Shared <= 0 || u.Shared > u.Resident || u.Released > u.Mapped {
		t.Errorf("%+v with 64 MiB in use", u)
	}
	runtime.KeepAlive(memory)
}
