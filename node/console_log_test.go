package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/nodetest"
)

// read sends a request as a person or with a key, and returns the body of its answer.
func (p *person) read(url, method, path, key, body string) string {
	p.Helper()
	r, err := http.NewRequestWithContext(p.Context(), method, url+path, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	answer, err := p.client.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		p.Fatal(err)
	}
	return string(text)
}

// firstRecords returns the first message of the stream of a node's log.
func (p *person) firstRecords(node *nodetest.Node) string {
	p.Helper()
	r, err := http.NewRequestWithContext(p.Context(), http.MethodGet, node.ManageURL+"/console/api/log?level=debug", nil)
	if err != nil {
		p.Fatal(err)
	}
	answer, err := p.client.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		p.Fatal(answer, err)
	}
	defer func() { _ = answer.Body.Close() }()
	lines := bufio.NewReader(answer.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			p.Fatal(err)
		}
		if records, found := strings.CutPrefix(line, "data: "); found {
			return records
		}
	}
}

// TestTheLogHasNoSecrets: a node that logs everything shows its log to the first admin, and nothing secret is in it: no password,
// right or wrong, no key, no cookie and no user.
func TestTheLogHasNoSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(consolePassword+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	node := nodetest.Start(t, nodetest.Options{
		Env:  []string{"GAVEL_ADMIN_EMAIL=" + consoleEmail, "GAVEL_ADMIN_PASSWORD_FILE=" + file},
		Args: []string{"--log-level", "debug", "--log-access", "1"},
	})
	ada := newPerson(t, []*nodetest.Node{node})
	const wrong, shopper = "a wrong password", "the-id-of-a-shopper"
	ada.send(0, "POST", "/console/api/session", fmt.Sprintf(`{"email":%q,"password":%q}`, consoleEmail, wrong))
	ada.signIn(0, consolePassword)
	var made struct{ Key string }
	text := ada.read(node.ManageURL, "POST", "/console/api/v1/key-service/keys", "", `{"kind":"auction","name":"n"}`)
	if err := json.Unmarshal([]byte(text), &made); err != nil || made.Key == "" {
		t.Fatalf("%v: %s", err, text)
	}
	for _, key := range []string{made.Key, node.Keys.ManagementKey, "gavel_auc_unknown"} {
		ada.read(node.AuctionURL, "POST", "/v2/auctions", key, `{"auctions":[{"type":"listings","slots":1,"opaqueUserId":"`+shopper+`","products":{"ids":["p"]}}]}`)
		ada.read(node.AuctionURL, "POST", "/v2/events", key, `{"pageviews":[{"id":"1","opaqueUserId":"`+shopper+`","occurredAt":"yesterday"}]}`)
	}
	ada.read(node.ManageURL, "DELETE", "/public/v1/user-service/users/"+shopper, node.Keys.ManagementKey, "")

	records := ada.firstRecords(node)
	if !strings.Contains(records, `"DEBUG"`) || !strings.Contains(records, `"request_id"`) {
		t.Errorf("the log has too little to show anything: %s", records)
	}
	secrets := []string{consolePassword, wrong, shopper, made.Key, node.Keys.AuctionKey, node.Keys.ManagementKey}
	address, err := url.Parse(node.ManageURL)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range ada.client.Jar.Cookies(address) {
		secrets = append(secrets, c.Value)
	}
	if len(secrets) != 7 {
		t.Errorf("%d secrets are looked for, want 7 with the one of the session", len(secrets))
	}
	for i, secret := range secrets {
		if strings.Contains(records, secret) {
			t.Errorf("secret %d is in the log: %s", i, records)
		}
	}
}
