//go:build !race

package apierr

import "testing"

func TestAppendAllocatesNothing(t *testing.T) {
	buf := make([]byte, 0, 512)
	message := []byte(`auctions[1].slots must be at least 1, not "x"`)
	if n := testing.AllocsPerRun(100, func() { buf = Append(buf[:0], TooFewSlots, message, "https://ads.example") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
