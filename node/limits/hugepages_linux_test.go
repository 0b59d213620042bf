package limits

import (
	"slices"
	"strings"
	"testing"
	"unsafe"
)

func TestRead(t *testing.T) {
	got, err := parseMaps(strings.NewReader(`00400000-00a00000 r-xp 00000000 fe:00 1234    /bin/gavel
00d7a000-02de0000 rw-p 00000000 00:00 0
7fa62917b000-7fa62939d000 rw-p 00000000 00:00 0
23ffe8800000-23ffefc00000 rw-p 00000000 00:00 0                          [anon: Go: heap]
7fa629b9f000-7fa62a39f000 rw-s 00000000 00:00 0
7fa62ad00000-7fa62ce00000 rw-p 00000000 fe:00 77  /data/file
7ffd00000000-7ffd00800000 rw-p 00000000 00:00 0                          [stack]
7fa62b000000-7fa62c000000 ---p 00000000 00:00 0
`))
	if want := []region{{0xe00000, 0x2c00000}, {0x23ffe8800000, 0x23ffefc00000}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%x, %v; want %x", got, err, want)
	}
	if _, err = parseMaps(strings.NewReader("nonsense\n")); err == nil {
		t.Error("nonsense was read")
	}
}

// TestCollapseKeepsTheMemory checks that the content of memory is unchanged, whether or not the system collapses it.
func TestCollapseKeepsTheMemory(t *testing.T) {
	memory := make([]uint64, 8*HugePageSize/int(unsafe.Sizeof(uint64(0))))
	for i := range memory {
		memory[i] = uint64(i) // Not negative.
	}
	s, err := CollapseHugePages()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", s)
	for i := range memory {
		if memory[i] != uint64(i) { // Not negative.
			t.Fatalf("word %d is %d", i, memory[i])
		}
	}
	if again, err := AdviseHugePages(); err != nil || again.Collapsed != 0 {
		t.Errorf("%+v, %v", again, err)
	}
}
