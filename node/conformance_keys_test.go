package main_test

import (
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/auth"
)

// Which key may call what, and in which order this is checked.
func TestConformanceKeys(t *testing.T) {
	s := startNode(t)
	key, management := s.node.Keys.AuctionKey, s.node.Keys.ManagementKey
	unknown, err := auth.Generate(auth.Auction, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	token := dialogToken(s, s.node.ManageURL, management)
	altered := func(i int) string {
		b := []byte(key)
		if b[i]++; b[i] == '9'+1 || b[i] == 'z'+1 || b[i] == 'Z'+1 {
			b[i] -= 2
		}
		return string(b)
	}
	rows := []struct {
		name, header string
		status       int
	}{
		{"good", "Bearer " + key, 201},
		{"scheme in lower case", "bearer " + key, 201},
		{"scheme in odd case", "bEaReR " + key, 201},
		{"more spaces", "Bearer    " + key, 201},
		{"absent", "", 401},
		{"scheme alone", "Bearer", 401},
		{"no scheme", key, 401},
		{"other scheme", "Basic " + key, 401},
		{"longer scheme", "Bearers " + key, 401},
		{"no space", "Bearer" + key, 401},
		{"two keys", "Bearer " + key + " " + key, 401},
		{"list", "Bearer " + key + ", Bearer " + key, 401},
		{"quoted", `Bearer "` + key + `"`, 401},
		{"unknown", "Bearer " + unknown.String(), 401},
		{"short", "Bearer bad", 401},
		{"cut", "Bearer " + key[:len(key)-1], 401},
		{"longer", "Bearer " + key + "0", 401},
		{"checksum", "Bearer " + altered(len(key)-1), 401},
		{"secret", "Bearer " + altered(len(key)-10), 401},
		{"id", "Bearer " + altered(len("gavel_auc_")+1), 401},
		{"upper case", "Bearer " + strings.ToUpper(key), 401},
		{"kind renamed", "Bearer " + strings.Replace(key, "_auc_", "_mgt_", 1), 401},
		{"huge", "Bearer " + strings.Repeat("k", 10_000), 401},
		{"management key", "Bearer " + management, 403},
		{"token of the vendors' dialog", "Bearer " + token, 403},
		{"forged token of the vendors' dialog", "Bearer " + token[:len(token)-2], 401},
		{"management key renamed", "Bearer " + strings.Replace(management, "_mgt_", "_auc_", 1), 401},
	}
	for _, row := range rows {
		for listener, url := range s.listeners() {
			for _, path := range []string{"/v2/auctions", "/v2/events"} {
				for _, body := range []string{goodAuction, `{"broken`} {
					r := s.do("POST", url+path, "", body, "Authorization", row.header)
					want := row.status
					if want == 201 && path == "/v2/events" || want == 201 && body != goodAuction {
						want = 400 // The key is valid, the body is not.
					}
					if r.status != want || want > 400 && r.errCode() != "invalid_api_key" {
						t.Errorf("%s %s %s: %d %s, want %d", row.name, listener, path, r.status, r.body, want)
					}
					challenge := r.header.Get("WWW-Authenticate")
					if (r.status == 401) != (challenge == `Bearer realm="gavel"`) {
						t.Errorf("%s %s: %d with WWW-Authenticate %q", row.name, listener, r.status, challenge)
					}
					s.checkAnswer(r)
				}
			}
		}
	}
	for _, url := range s.listeners() { // A key is accepted in one header only.
		if r := s.do("POST", url+"/v2/auctions?key="+key+"&authorization=Bearer+"+key, "", goodAuction); r.status != 401 {
			t.Errorf("a key in the query: %d", r.status)
		}
		for path, status := range map[string]int{"/v2/nope": 404, "/v2/auctions/": 404} {
			if r := s.do("POST", url+path, "", goodAuction); r.status != status {
				t.Errorf("%s without a key: %d, want %d", path, r.status, status)
			}
		}
		if r := s.do("GET", url+"/v2/auctions", "", ""); r.status != 405 || r.header.Get("Allow") != "POST, OPTIONS" {
			t.Errorf("a wrong method without a key: %d, Allow %q", r.status, r.header.Get("Allow"))
		}
	}
	for header, status := range map[string]int{"": 401, "Bearer " + key: 403, "Bearer x": 401, "Bearer " + management: 200} {
		r := s.do("GET", s.node.ManageURL+"/public/v1/campaign-service/campaigns", "", "", "Authorization", header)
		if r.status != status {
			t.Errorf("management with %.20q: %d, want %d", header, r.status, status)
		}
		if status >= 400 {
			s.errorObject(r)
		}
	}
}

// A key works from the answer that created it until the answer that revoked it, or until it expires.
func TestConformanceKeyLife(t *testing.T) {
	s := startNode(t)
	try := func(key string) int { return s.do("POST", s.node.AuctionURL+"/v2/auctions", key, goodAuction).status }
	mint := func(kind, more string) (id, key string) {
		r := s.manage(201, "POST", "key-service/keys", fmt.Sprintf(`{"kind":%q,"name":"n"%s}`, kind, more))
		id, _ = r.member("keyId").(string)
		key, _ = r.member("key").(string)
		return id, key
	}
	id, key := mint("auction", "")
	if got := try(key); got != 201 {
		t.Errorf("a new key: %d", got)
	}
	l := s.dial(s.node.AuctionURL) // Opened before the revocation, and used before and after.
	ask := func() int {
		body := goodAuction
		_, _ = io.WriteString(l.conn, "POST /v2/auctions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+key+"\r\n"+length(body)+"\r\n\r\n"+body)
		return l.reply("POST").status
	}
	if got := ask(); got != 201 {
		t.Errorf("a new key: %d", got)
	}
	s.manage(204, "DELETE", "key-service/keys/"+id, "")
	if got := ask(); got != 401 {
		t.Errorf("a revoked key on an open connection: %d", got)
	}
	if got := try(key); got != 401 {
		t.Errorf("a revoked key: %d", got)
	}

	expires := time.Now().Add(1500 * time.Millisecond)
	_, key = mint("auction", `,"expiresAt":"`+expires.UTC().Format(time.RFC3339Nano)+`"`)
	if got := try(key); got != 201 && time.Now().Before(expires) {
		t.Errorf("a key before it expires: %d", got)
	}
	time.Sleep(time.Until(expires))
	for last := expires.Add(10 * time.Second); try(key) != 401; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(last) {
			t.Fatal("a key is accepted 10 s after it expired")
		}
	}
	_, second := mint("management", "")
	if r := s.do("GET", s.node.ManageURL+"/public/v1/key-service/keys", second, ""); r.status != 200 || strings.Contains(string(r.body), second) {
		t.Errorf("a second management key: %d %s", r.status, r.body)
	}
}

// dialogToken returns a token of the vendors' dialog for a new vendor.
func dialogToken(s *testClient, url, management string) string {
	s.Helper()
	s.do("PUT", url+"/public/v1/catalog-search-service/catalogs/vendors", management, `{"vendors":[{"id":"with-a-token","name":"V"}]}`)
	r := s.do("GET", url+"/public/v1/modal-service/auth/vendors/with-a-token", management, "")
	token, ok := r.member("authToken").(string)
	if !ok {
		s.Fatalf("no token: %d %s", r.status, r.body)
	}
	return token
}

// There are at most 20 active keys of a kind, the last management key cannot be revoked, and the text of a key is
// returned once.
func TestConformanceKeyLimits(t *testing.T) {
	s := startNode(t)
	create := func(body string) reply {
		return s.do("POST", s.node.ManageURL+"/public/v1/key-service/keys", s.node.Keys.ManagementKey, body)
	}
	for _, body := range []string{
		`{"kind":"auction"}`, `{"kind":"auction","name":""}`, `{"kind":"auction","name":"` + strings.Repeat("n", 65) + `"}`,
		`{"kind":"other","name":"n"}`, `{"name":"n"}`, `{"kind":"auction","name":"n","expiresAt":"tomorrow"}`,
	} {
		if r := create(body); r.status != 422 {
			t.Errorf("%s: %d %s", body, r.status, r.body)
		}
	}
	var last string
	for range 19 { // The first key makes 20.
		r := create(`{"kind":"auction","name":"` + strings.Repeat("n", 64) + `"}`)
		if key, _ := r.member("key").(string); r.status != 201 || !strings.HasPrefix(key, "gavel_auc_") {
			t.Fatalf("%d %s", r.status, r.body)
		}
		last, _ = r.member("keyId").(string)
	}
	if r := create(`{"kind":"auction","name":"n"}`); r.status != 409 || r.errCode() != "limit_exceeded" {
		t.Errorf("key 21: %d %s", r.status, r.body)
	}
	s.manage(204, "DELETE", "key-service/keys/"+last, "")
	s.manage(404, "DELETE", "key-service/keys/"+last, "")
	if r := create(`{"kind":"auction","name":"n"}`); r.status != 201 {
		t.Errorf("a key after one was revoked: %d %s", r.status, r.body)
	}
	var list struct {
		Keys []struct{ KeyID, Kind, Name, Key string }
	}
	s.decode(s.manage(200, "GET", "key-service/keys", ""), &list)
	for _, k := range list.Keys {
		if k.Key != "" {
			t.Errorf("the list shows the text of a key: %+v", k)
		}
		if k.Kind == "management" {
			if r := s.do("DELETE", s.node.ManageURL+"/public/v1/key-service/keys/"+k.KeyID, s.node.Keys.ManagementKey, ""); r.status != 409 {
				t.Errorf("the last management key was deleted: %d %s", r.status, r.body)
			}
		}
	}
	if len(list.Keys) != 21 {
		t.Errorf("%d keys are listed", len(list.Keys))
	}
}
