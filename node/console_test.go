package main_test

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/nodetest"
)

const (
	consoleEmail    = "ada@example.com"
	consolePassword = "correct horse battery"
)

// person is somebody with a browser, who may reach the console at any node.
type person struct {
	*testing.T
	nodes  []*nodetest.Node
	client *http.Client
}

func newPerson(t *testing.T, nodes []*nodetest.Node) *person {
	jar, err := cookiejar.New(nil) // All nodes have one host name, so the browser sends the cookie to all of them.
	if err != nil {
		t.Fatal(err)
	}
	return &person{t, nodes, &http.Client{Jar: jar, Timeout: 10 * time.Second}}
}

// send sends a request to a node and returns the status of the answer.
func (p *person) send(node int, method, path, body string) int {
	p.Helper()
	r, err := http.NewRequestWithContext(p.Context(), method, p.nodes[node].ManageURL+path, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := p.client.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	_ = answer.Body.Close() // Only the status counts.
	return answer.StatusCode
}

func (p *person) signIn(node int, password string) {
	p.Helper()
	if code := p.send(node, "POST", "/console/api/session", fmt.Sprintf(`{"email":%q,"password":%q}`, consoleEmail, password)); code != 200 {
		p.Fatalf("signing in at node %d: %d", node, code)
	}
}

// sees returns how each node answers the session. A node that cannot know which sessions have ended answers 503, which on
// a busy machine may last; it is asked until it knows.
func (p *person) sees() (codes [3]int) {
	p.Helper()
	for i := range p.nodes {
		for deadline := time.Now().Add(nodetest.ReadyMax); ; time.Sleep(10 * time.Millisecond) {
			codes[i] = p.send(i, "GET", "/console/api/session", "")
			if codes[i] != http.StatusServiceUnavailable || time.Now().After(deadline) {
				break
			}
		}
	}
	return codes
}

// sessionEndMax is how long a node may accept a session that has ended: cluster.KeysMax, after which it knows or answers 503.
// It is milliseconds, and a second is promised, but not on a machine that is busy with other tests.
const sessionEndMax = 30 * time.Second

// ends waits until every node refuses a session that ended before a time. No node may accept it in a request that is sent
// more than sessionEndMax later.
func (p *person) ends(why string, ended time.Time) {
	p.Helper()
	for {
		after := time.Since(ended)
		codes := p.sees()
		if codes == [3]int{401, 401, 401} {
			p.Logf("%s ends the session on every node after %s", why, time.Since(ended))
			return
		}
		if after > sessionEndMax {
			p.Fatalf("%s: asked %s later the nodes answer %v", why, after, codes)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestSessionsEndOnEveryNode: a session that was begun at one node of three is open at all of them at once, and ends at all of them
// when the password is changed or reset and when its user is removed.
func TestSessionsEndOnEveryNode(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts three processes; node/console tests two listeners on one state")
	}
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(consolePassword+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	nodes := nodetest.StartCluster(t, 3, nodetest.Options{
		PeerInsecure: true, Args: []string{"--disk-reserve", "1MiB"},
		Env: []string{"GAVEL_ADMIN_EMAIL=" + consoleEmail, "GAVEL_ADMIN_PASSWORD_FILE=" + file},
	})
	gavel := func(node int, args ...string) {
		t.Helper()
		command := exec.Command(nodetest.Binary(t), append(args, "--data-dir", nodes[node].Dir())...)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("gavel %v: %v %s", args, err, out)
		}
	}
	ada, elsewhere := newPerson(t, nodes), newPerson(t, nodes)
	ada.signIn(0, consolePassword)
	if got := ada.sees(); got != [3]int{200, 200, 200} {
		t.Fatalf("right after signing in at one node the nodes answer %v", got)
	}
	elsewhere.signIn(1, consolePassword)

	const changed = "another good password"
	if code := ada.send(2, "PUT", "/console/api/password", fmt.Sprintf(`{"current":%q,"new":%q}`, consolePassword, changed)); code != 204 {
		t.Fatalf("changing the password: %d", code)
	}
	elsewhere.ends("a change of the password", time.Now())
	if got := ada.sees(); got != [3]int{200, 200, 200} {
		t.Errorf("who changed the password is answered %v", got)
	}
	elsewhere.signIn(0, changed)

	if err := os.WriteFile(file, []byte("a third good password"), 0o600); err != nil {
		t.Fatal(err)
	}
	gavel(1, "admin", "create", "bob@example.com")
	gavel(1, "admin", "reset-password", consoleEmail, "--password-from", file)
	ended := time.Now()
	ada.ends("a reset of the password", ended)
	elsewhere.ends("a reset of the password", ended)
	ada.signIn(2, "a third good password")
	gavel(0, "admin", "remove", consoleEmail)
	ada.ends("a removal", time.Now())
}
