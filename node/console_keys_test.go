package main_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/nodetest"
)

// keyProbe is a request that a key opens at one listener of one node.
type keyProbe struct{ url, method, path, body string }

// keyProbes returns what a kind of key opens at all nodes: auctions at both listeners, the management API at one.
func keyProbes(nodes []*nodetest.Node, kind string) (all []keyProbe) {
	const body = `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["p"]}}]}`
	for _, n := range nodes {
		if kind == "management" {
			all = append(all, keyProbe{n.ManageURL, "GET", "/public/v1/key-service/keys", ""})
			continue
		}
		all = append(all, keyProbe{n.AuctionURL, "POST", "/v2/auctions", body}, keyProbe{n.ManageURL, "POST", "/v2/auctions", body})
	}
	return all
}

// answers returns how the listeners answer a key. The connections stay open, so that a listener which remembers the key of a connection
// is found.
func answers(t *testing.T, probes []keyProbe, key string) []int {
	t.Helper()
	codes := make([]int, len(probes))
	for i, p := range probes {
		codes[i] = untilKnown(t, func() int {
			r, err := http.NewRequestWithContext(t.Context(), p.method, p.url+p.path, strings.NewReader(p.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+key)
			r.Header.Set("Content-Type", "application/json")
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, answer.Body) // Only the status counts; the connection is used again.
			_ = answer.Body.Close()
			return answer.StatusCode
		})
	}
	return codes
}

// acceptedBy waits until every listener accepts a new key.
func acceptedBy(t *testing.T, probes []keyProbe, key string) {
	t.Helper()
	refused := func(code int) bool { return code != http.StatusOK && code != http.StatusCreated }
	for deadline := time.Now().Add(nodetest.ReadyMax); ; time.Sleep(10 * time.Millisecond) {
		codes := answers(t, probes, key)
		if !slices.ContainsFunc(codes, refused) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a new key is answered %v", codes)
		}
	}
}

// TestARevokedKeyIsRefusedOnEveryNode: a key that the console makes at one node of three opens both listeners of all nodes, and none of
// them after it was revoked in the console at another node. Keys of the other kind are still accepted.
func TestARevokedKeyIsRefusedOnEveryNode(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts three processes; cluster.TestRevokedKeys has three nodes in one")
	}
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(consolePassword+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	nodes := nodetest.StartCluster(t, 3, nodetest.Options{
		PeerInsecure: true, Args: []string{"--disk-reserve", "1MiB", "--ratelimit-management", "0"},
		Env: []string{"GAVEL_ADMIN_EMAIL=" + consoleEmail, "GAVEL_ADMIN_PASSWORD_FILE=" + file},
	})
	ada := newPerson(t, nodes)
	ada.signIn(0, consolePassword)
	const keys = "/console/api/v1/key-service/keys"
	for at := range nodes {
		for _, kind := range []string{"auction", "management"} {
			var made struct{ Key, KeyID string }
			ada.decode(ada.read(nodes[at].ManageURL, "POST", keys, "", fmt.Sprintf(`{"kind":%q,"name":"n"}`, kind)), &made)
			probes := keyProbes(nodes, kind)
			acceptedBy(t, probes, made.Key)
			other := (at + 1) % len(nodes)
			if code := ada.send(other, "DELETE", keys+"/"+made.KeyID, ""); code != 204 {
				t.Fatalf("revoking the key %s at node %d: %d", made.KeyID, other, code)
			}
			refusedSince(t, fmt.Sprintf("the %s key, revoked at node %d", kind, other), time.Now(), func() []int {
				return answers(t, probes, made.Key)
			})
		}
		acceptedBy(t, keyProbes(nodes, "auction"), nodes[0].Keys.AuctionKey)
		acceptedBy(t, keyProbes(nodes, "management"), nodes[0].Keys.ManagementKey)
	}
}
