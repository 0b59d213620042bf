package nodetest

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// StartCluster starts size nodes that found a cluster together, in plain text on loopback, and waits until all are ready.
// They are named n1 and so on, and all have the same keys.
func StartCluster(t testing.TB, size int, o Options) []*Node {
	t.Helper()
	if o.Keys == nil {
		o.Keys = &Keys{AuctionKey: generateKey(t, o, "auction"), ManagementKey: generateKey(t, o, "management")}
	}
	ports, err := freePorts(size)
	if err != nil {
		t.Fatal(err)
	}
	peers := make([]string, size)
	for i, port := range ports {
		peers[i] = fmt.Sprintf("127.0.0.1:%d", port)
	}
	nodes := make([]*Node, size)
	for i := range nodes {
		own := o
		own.Args = append([]string{
			"--node-id", fmt.Sprintf("n%d", i+1), "--peer-listen", peers[i], "--join", strings.Join(peers, ","),
			"--bootstrap-expect", fmt.Sprint(size), "--peer-insecure",
		}, o.Args...)
		nodes[i] = New(t, own)
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

func generateKey(t testing.TB, o Options, kind string) string {
	t.Helper()
	binary := o.Binary
	if binary == "" {
		binary = Binary(t)
	}
	out, err := exec.Command(binary, "keys", "generate", "--kind", kind).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// Dir is the data directory.
func (n *Node) Dir() string { return n.dir }
