package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// sees returns how each node answers the session.
func (p *person) sees() []int {
	p.Helper()
	codes := make([]int, len(p.nodes))
	for i := range p.nodes {
		codes[i] = untilKnown(p, func() int { return p.send(i, "GET", "/console/api/session", "") })
	}
	return codes
}

// untilKnown asks until the answer is not 503: a node that cannot know which sessions have ended and which keys were revoked answers
// 503, which on a busy machine may last.
func untilKnown(t testing.TB, ask func() int) int {
	t.Helper()
	for deadline := time.Now().Add(nodetest.ReadyMax); ; time.Sleep(10 * time.Millisecond) {
		code := ask()
		if code != http.StatusServiceUnavailable || time.Now().After(deadline) {
			return code
		}
	}
}

// refusedMax is how long a node may accept a session that has ended, or a key that was revoked: cluster.KeysMax, after which it knows or
// answers 503. It is milliseconds, and a second is promised, but not on a machine that is busy with other tests. The command
// loadtest/operator measures it, and cluster.TestRevokedKeys checks the second without a machine.
const refusedMax = 30 * time.Second

// refusedSince waits until all answers are 401, after something ended at a time. None may be another one to a request that is sent more
// than refusedMax later.
func refusedSince(t testing.TB, why string, ended time.Time, answers func() []int) {
	t.Helper()
	for {
		after := time.Since(ended)
		codes := answers()
		if !slices.ContainsFunc(codes, func(code int) bool { return code != http.StatusUnauthorized }) {
			t.Logf("%s: refused on every node after %s", why, time.Since(ended))
			return
		}
		if after > refusedMax {
			t.Fatalf("%s: asked %s later the nodes answer %v", why, after, codes)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// ends waits until every node refuses the session.
func (p *person) ends(why string, ended time.Time) {
	p.Helper()
	refusedSince(p, why+" ends the session", ended, p.sees)
}

// colleague invites somebody to a role, who accepts at a node and is signed in there.
func (p *person) colleague(node int, email, role string) *person {
	p.Helper()
	var invitation struct{ AcceptURL string }
	body := fmt.Sprintf(`{"email":%q,"role":%q}`, email, role)
	p.decode(p.read(p.nodes[node].ManageURL, "POST", "/console/api/users", "", body), &invitation)
	_, token, _ := strings.Cut(invitation.AcceptURL, "#token=")
	other := newPerson(p.T, p.nodes)
	body = fmt.Sprintf(`{"token":%q,"name":"Bob","password":%q}`, token, consolePassword)
	if code := other.send(node, "POST", "/console/api/invitations/accept", body); code != 200 {
		p.Fatalf("accepting the invitation: %d", code)
	}
	return other
}

// id returns the id of the user who is signed in.
func (p *person) id(node int) string {
	p.Helper()
	var session struct{ User struct{ ID string } }
	p.decode(p.read(p.nodes[node].ManageURL, "GET", "/console/api/session", "", ""), &session)
	return session.User.ID
}

func (p *person) decode(text string, out any) {
	p.Helper()
	if err := json.Unmarshal([]byte(text), out); err != nil {
		p.Fatalf("%v: %s", err, text)
	}
}

// TestSessionsEndOnEveryNode: a session that was begun at one node of three is open at all of them at once, and ends at all of them
// when the password is changed or reset, when the role of its user changes, and when the user is removed.
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
	open := []int{200, 200, 200}
	ada, elsewhere := newPerson(t, nodes), newPerson(t, nodes)
	ada.signIn(0, consolePassword)
	if got := ada.sees(); !slices.Equal(got, open) {
		t.Fatalf("right after signing in at one node the nodes answer %v", got)
	}
	elsewhere.signIn(1, consolePassword)

	const changed = "another good password"
	if code := ada.send(2, "PUT", "/console/api/password", fmt.Sprintf(`{"current":%q,"new":%q}`, consolePassword, changed)); code != 204 {
		t.Fatalf("changing the password: %d", code)
	}
	elsewhere.ends("a change of the password", time.Now())
	if got := ada.sees(); !slices.Equal(got, open) {
		t.Errorf("who changed the password is answered %v", got)
	}
	elsewhere.signIn(0, changed)

	carl := ada.colleague(1, "carl@example.com", "operator")
	id := carl.id(1)
	if got := carl.sees(); !slices.Equal(got, open) {
		t.Errorf("right after the invitation was accepted at one node the nodes answer %v", got)
	}
	if code := ada.send(2, "PATCH", "/console/api/users/"+id, `{"role":"analyst"}`); code != 204 {
		t.Fatalf("changing the role: %d", code)
	}
	carl.ends("a change of the role", time.Now())
	dora := ada.colleague(0, "dora@example.com", "analyst")
	if code := ada.send(1, "DELETE", "/console/api/users/"+dora.id(2), ""); code != 204 {
		t.Fatalf("removing a colleague: %d", code)
	}
	dora.ends("a removal by an admin", time.Now())

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
	ada.ends("a removal by the command", time.Now())
}
