package scenarios

import "testing"

// This measures how long it takes to make one body of 50 clicks.
func BenchmarkClicksBody(b *testing.B) {
	env := environment()
	env.Events, env.Tokens = 50, 100_000
	s := &clicks{}
	if err := s.Prepare(b.Context(), env); err != nil {
		b.Fatal(err)
	}
	w := s.Worker(0)
	var r Request
	b.ReportAllocs()
	for b.Loop() {
		if !w.Next(&r) {
			s.tokens.taken.Store(0)
		}
	}
	b.SetBytes(int64(len(r.Body)))
}
