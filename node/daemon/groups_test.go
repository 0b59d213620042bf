package daemon

import (
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/operator"
	"github.com/gavel-ads/gavel/raftstore"
)

// A node whose configuration sets no number of groups uses that of the cluster it joins, whatever its CPUs suggest, and
// keeps it after a restart.
func TestAJoinerTakesTheClustersGroups(t *testing.T) {
	first := testConfig(t.TempDir(), 3)
	first.NodeID, first.PeerInsecure, first.PeerListen = "n1", true, freeAddress(t)
	founder := run(t, first, Options{})
	defer founder.stop()
	second := testConfig(t.TempDir(), 0)
	second.NodeID, second.PeerInsecure, second.PeerListen, second.Join = "n2", true, freeAddress(t), []string{first.PeerListen}
	second.Learner, second.KeysFile = true, first.KeysFile
	for range 2 {
		joiner := run(t, second, Options{})
		joiner.stop()
		groups, err := raftstore.FoundedGroups(vfs.Default, second.DataDir)
		if err != nil || !slices.Equal(groups, []uint16{0, 1, 2, 3}) {
			t.Fatalf("groups %v, %v", groups, err)
		}
	}

	// Neither of them may change anything by itself.
	founder.stop()
	for _, member := range []config.Config{first, second} {
		alone := testConfig(filepath.Dir(member.DataDir), 0)
		alone.NodeID = member.NodeID
		err := WithStoppedNode(t.Context(), alone, "test", func(operator.Local) error { t.Error("called"); return nil })
		if err == nil || !strings.Contains(err.Error(), "one of 2") {
			t.Errorf("%s: %v", member.NodeID, err)
		}
	}
}

// A node without a peer listener has no address, and not raft's name for it.
func TestTheAddressOfALoneNode(t *testing.T) {
	r := run(t, testConfig(t.TempDir(), 1), Options{})
	status := r.must(200, "GET", r.manage+"/operator/v1/cluster", r.keys.Management, "")
	if n := status["nodes"].([]any)[0].(map[string]any); n["address"] != "" {
		t.Errorf("%v", n)
	}
}

// freeAddress returns an address that nothing listens on now.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // Only its address was needed.
	return l.Addr().String()
}
