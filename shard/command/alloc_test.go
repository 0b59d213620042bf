//go:build !race

package command

import "testing"

func TestReadEventsAllocatesNothing(t *testing.T) {
	var e Events
	c, err := Open(AppendEvents(nil, now, &someEvents))
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _ = ReadEvents(&c, &e) }); n != 0 {
		t.Errorf("%v allocations on a warm batch", n)
	}
}
