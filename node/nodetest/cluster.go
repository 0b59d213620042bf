package nodetest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// StartCluster starts size nodes that create a cluster together on loopback, with generated certificates unless
// Options.PeerInsecure is set, and waits until all are ready. Their ids are n1, n2 and so on, and all have the same
// keys.
func StartCluster(t testing.TB, size int, o Options) []*Node {
	t.Helper()
	if o.Keys == nil {
		o.Keys = &Keys{AuctionKey: generateKey(t, o, "auction"), ManagementKey: generateKey(t, o, "management")}
	}
	peers := make([]string, size)
	for i, port := range reservePorts(t, size) {
		peers[i] = fmt.Sprintf("127.0.0.1:%d", port)
	}
	secure := peerSecurity(t, o, size)
	nodes := make([]*Node, size)
	for i := range nodes {
		own := o
		own.Args = append([]string{
			"--node-id", name(i), "--peer-listen", peers[i], "--join", strings.Join(peers, ","), "--bootstrap-expect", strconv.Itoa(size),
		}, slices.Concat(secure(i), o.Args)...)
		nodes[i] = New(t, own)
		nodes[i].PeerAddress = peers[i]
		if err := nodes[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nodes {
		if err := n.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return nodes
}

func name(i int) string { return fmt.Sprintf("n%d", i+1) }

// peerSecurity returns the arguments of each node that secure its peer port.
func peerSecurity(t testing.TB, o Options, size int) func(node int) []string {
	t.Helper()
	if o.PeerInsecure {
		return func(int) []string { return []string{"--peer-insecure"} }
	}
	dir := makeCertificates(t, o, size)
	return func(node int) []string {
		return []string{
			"--peer-certificate", filepath.Join(dir, name(node)+".crt"), "--peer-key", filepath.Join(dir, name(node)+".key"),
			"--peer-authority", filepath.Join(dir, "ca.crt"),
		}
	}
}

// makeCertificates creates a directory with a certificate for each node.
func makeCertificates(t testing.TB, o Options, size int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "certificates")
	args := []string{"cluster", "certificates", "--out", dir}
	for i := range size {
		args = append(args, name(i))
	}
	gavel(t, o, args...)
	return dir
}

func generateKey(t testing.TB, o Options, kind string) string {
	t.Helper()
	return strings.TrimSpace(gavel(t, o, "keys", "generate", "--kind", kind))
}

// gavel runs a command that ends by itself and returns its output.
func gavel(t testing.TB, o Options, args ...string) string {
	t.Helper()
	binary := o.Binary
	if binary == "" {
		binary = Binary(t)
	}
	out, err := exec.Command(binary, args...).Output()
	if err != nil {
		t.Fatalf("gavel %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// Dir returns the data directory.
func (n *Node) Dir() string { return n.dir }
