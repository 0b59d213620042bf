//go:build !race

package scenarios

import "testing"

// CPU time of the generator is missing from the figure that it reports, so a worker that has sent some requests allocates nothing for one.
func TestNextDoesNotAllocate(t *testing.T) {
	env := environment()
	env.Tokens = 20_000
	for _, name := range All {
		s, err := New(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Prepare(t.Context(), env); err != nil {
			t.Fatal(err)
		}
		w := s.Worker(0)
		answer := []byte(`{"results":[{"winners":[{"resolvedBidId":"tok-1"},{"resolvedBidId":"tok-2"}]}]}`)
		var r Request
		step := func() {
			if !w.Next(&r) {
				t.Fatal("out of material")
			}
			w.Answer(&r, answer)
		}
		for range 200 {
			step()
		}
		if n := testing.AllocsPerRun(500, step); n != 0 {
			t.Errorf("%s: %g allocations a request", name, n)
		}
	}
}
