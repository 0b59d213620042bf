package cluster

import (
	"encoding/base64"
	"encoding/binary"
	"errors"

	"github.com/gavel-ads/gavel/shard/ids"
)

// Token says which writes a replica must have applied: a log index for each group.
type Token map[ids.Group]uint64

// ErrToken is returned for text that is not a token of this cluster.
var ErrToken = errors.New("the text is not a token of this cluster")

// Raise raises the index of a group; a lower one has no effect.
func (t Token) Raise(g ids.Group, index uint64) { t[g] = max(t[g], index) }

// String returns the form that clients store and send back; it is opaque to them.
func (t Token) String() string {
	b := []byte{tokenVersion}
	for g := range ids.Group(tokenGroupsMax) {
		if index, ok := t[g]; ok {
			b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(g)), index)
		}
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

const (
	tokenVersion   = 1
	tokenGroupsMax = 257       // BOUND: the meta group and 256 data groups.
	tokenTextMax   = 4_000     // BOUND: 257 groups of at most 11 bytes, in base64.
	tokenIndexMax  = 1<<63 - 1 // BOUND: no cluster reaches this index.
)

// Parse reads a token, and returns ErrToken unless the topology has its groups. A token is neither secret nor a right:
// an invented one only makes its sender wait in vain.
func (c *Cluster) Parse(text string) (Token, error) { return parseToken(c.Topology, text) }

func parseToken(topology ids.Topology, text string) (Token, error) {
	if len(text) > tokenTextMax {
		return nil, ErrToken
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) == 0 || b[0] != tokenVersion {
		return nil, ErrToken
	}
	known := map[ids.Group]bool{}
	for _, g := range topology.Groups() {
		known[g] = true
	}
	t := Token{}
	for b = b[1:]; len(b) > 0; {
		g, n := binary.Uvarint(b)
		if n <= 0 || g >= tokenGroupsMax || !known[ids.Group(g)] {
			return nil, ErrToken
		}
		index, m := binary.Uvarint(b[n:])
		if m <= 0 || index > tokenIndexMax {
			return nil, ErrToken
		}
		t.Raise(ids.Group(g), index)
		b = b[n+m:]
	}
	return t, nil
}
