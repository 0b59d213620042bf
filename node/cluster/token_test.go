package cluster

import (
	"maps"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/shard/ids"
)

func TestTokensRoundTrip(t *testing.T) {
	topology := ids.Topology{DataGroups: 256}
	all := Token{}
	for _, g := range topology.Groups() {
		all.Raise(g, 1<<62+uint64(g))
	}
	for _, want := range []Token{{}, {1: 0}, {0: 7, 3: 1 << 40}, all} {
		text := want.String()
		got, err := parseToken(topology, text)
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestInvalidTokens(t *testing.T) {
	small := ids.Topology{DataGroups: 1}
	for _, text := range []string{
		"", "!", "AAAA", Token{2: 1}.String(), Token{0: 1}.String(), strings.Repeat("A", tokenTextMax+1), Token{1: 5}.String() + "A",
		Token{1: 1 << 63}.String(),
	} {
		if got, err := parseToken(small, text); err == nil {
			t.Errorf("%.20q is %v", text, got)
		}
	}
}

func FuzzToken(f *testing.F) {
	f.Add(Token{1: 5, 2: 1 << 40}.String())
	f.Fuzz(func(t *testing.T, text string) {
		topology := ids.Topology{DataGroups: 4}
		token, err := parseToken(topology, text)
		if err != nil {
			return
		}
		again, err := parseToken(topology, token.String())
		if err != nil || !maps.Equal(token, again) {
			t.Errorf("%q: %v becomes %v, %v", text, token, again, err)
		}
	})
}
