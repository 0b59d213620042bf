package manage_test

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/login"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
)

const rolesFile = "testdata/roles.txt"

// roleColumns are the roles in the order of the columns of roles.txt.
var roleColumns = []store.ConsoleRole{
	store.RoleAdmin, store.RoleOperator, store.RoleAnalyst, store.RoleVendorAdmin, store.RoleVendorAnalyst,
}

// roleRows reads who may call each route that takes login sessions. The file is written by hand, so that a new operation has to state
// its roles here, too.
func roleRows(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(rolesFile)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if allowed, pattern, ok := strings.Cut(strings.TrimSpace(line), "  "); ok && allowed != "#" {
			rows[pattern] = allowed
		}
	}
	return rows
}

// consoleEnvironment has the vendors va and vb, each with a campaign, a wallet and an asset. What belongs to vb says so.
type consoleEnvironment struct {
	*managetest.Environment
	foreign map[string]string // Ids of vb's objects, by the names of path values.
}

const foreignMark = "secret-of-vb"

func newConsoleEnvironment(t *testing.T) *consoleEnvironment {
	t.Helper()
	w, _ := vendorEnvironment(t)
	e := &consoleEnvironment{w, map[string]string{}}
	create := func(member, value, path, body string) {
		t.Helper()
		rec := call(w, "POST", "/public/v1/"+path, "management", body)
		var made map[string]any
		if err := json.Unmarshal(rec.Body.Bytes(), &made); err != nil || rec.Code > 299 {
			t.Fatalf("%s: %d %s", path, rec.Code, rec.Body)
		}
		id, ok := made[member].(string)
		if !ok {
			t.Fatalf("%s has no %s: %s", path, member, rec.Body)
		}
		e.foreign[value] = id
	}
	rec := call(w, "PUT", "/public/v1/catalog-search-service/catalogs/vendors", "management", `{"vendors":[{"id":"vb","name":"`+foreignMark+`"}]}`)
	if rec.Code != 200 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	create("campaignId", "campaign_id", "campaign-service/campaigns?vendor_id=vb",
		`{"name":"`+foreignMark+`","campaignType":"manual","bids":[{"target":{"type":"product","id":"pb"},"amount":120}]}`)
	create("walletId", "wallet_id", "billing-service/vendors/vb/wallets", `{"name":"`+foreignMark+`"}`)
	create("id", "asset_id", "assets/asset?vendor_id=vb", `{"name":"`+foreignMark+`","externalUrl":"https://example.com/a.png"}`)
	return e
}

// user makes a user with a right and returns the cookie of an open session.
func (e *consoleEnvironment) user(t *testing.T, email string, access store.ConsoleAccess) string {
	t.Helper()
	people := e.Store.People()
	if access.Role.OfVendor() {
		tenant := e.Store.Tenant(access.Marketplace)
		if _, err := tenant.CreateUser(t.Context(), store.User{Email: email, VendorIDs: []string{access.Vendor}}); err != nil {
			t.Fatal(err)
		}
	}
	u, err := people.Create(t.Context(), store.ConsoleUser{Email: email, Name: email, Access: []store.ConsoleAccess{access}})
	if err != nil {
		t.Fatal(err)
	}
	secret := login.NewSecret()
	key, _ := login.KeyOf(secret)
	if _, err := people.SignIn(t.Context(), &u, key, store.LoginSession{}); err != nil {
		t.Fatal(err)
	}
	return "gavel_session=" + secret
}

// consolePath is the path of a route with the vendor va, and the given or unknown ids.
func consolePath(pattern, vendor string, values map[string]string) (method, path string) {
	method, path, _ = strings.Cut(pattern, " ")
	if strings.Contains(path, "/catalogs/vendors/{id}") {
		path = strings.ReplaceAll(path, "{id}", vendor)
	}
	path = strings.ReplaceAll(path, "{vendor_id}", vendor)
	for name, value := range values {
		path = strings.ReplaceAll(path, "{"+name+"}", value)
	}
	return method, wildcard.ReplaceAllString(path, nobody)
}

func (e *consoleEnvironment) ask(cookie, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	return call(e.Environment, method, path, "", body, append(headers, "Cookie", cookie, "Content-Type", "application/json")...)
}

// TestRoleMatrix: every operation that takes a login session, with every role, for the own and another vendor, in the own and another
// marketplace. What the file does not allow is refused, and nothing of another vendor is in any answer.
func TestRoleMatrix(t *testing.T) {
	e := newConsoleEnvironment(t)
	rows := roleRows(t)
	cookies := map[store.ConsoleRole]string{}
	for _, role := range roleColumns {
		access := store.ConsoleAccess{Marketplace: managetest.Main, Role: role}
		if role.OfVendor() {
			access.Vendor = "va"
		}
		cookies[role] = e.user(t, string(role)+"@example.com", access)
	}
	other := e.user(t, "other@example.com", store.ConsoleAccess{Marketplace: managetest.Other, Role: store.RoleAdmin})
	patterns := e.SessionPatterns()
	for _, pattern := range patterns {
		allowed := rows[pattern]
		if allowed == "" {
			t.Errorf("%s has no row for %s: say which roles may call it", rolesFile, pattern)
			continue
		}
		for i, role := range roleColumns {
			e.tryRole(t, pattern, role, cookies[role], allowed[i] != '-')
		}
		e.tryOthers(t, pattern, other, rows[pattern])
	}
	for pattern := range rows {
		if !slices.Contains(patterns, pattern) {
			t.Errorf("%s has a row for %s, which is no route", rolesFile, pattern)
		}
	}
	if log := e.Log(); log != "" {
		t.Errorf("none of it is a defect: %.500s", log)
	}
}

const noBody = `{"nothing":"known"}`

// tryRole calls a route as a user of the own marketplace.
func (e *consoleEnvironment) tryRole(t *testing.T, pattern string, role store.ConsoleRole, cookie string, allowed bool) {
	t.Helper()
	body := noBody
	if strings.HasPrefix(pattern, "GET ") {
		body = ""
	}
	forbidden := reaction{403, "forbidden_role"}
	method, own := consolePath(pattern, "va", nil)
	rec := e.ask(cookie, method, own, body)
	got := reactionOf(rec)
	if allowed == (got == forbidden) || got.status == 401 || got.status >= 500 && allowed {
		t.Errorf("%s as %s: %v, allowed: %v", pattern, role, got, allowed)
	}
	if got := reactionOf(e.ask(cookie, method, own, body, "X-Gavel-Marketplace", "00000000-0000-7000-8000-000000000002")); got != forbidden {
		t.Errorf("%s as %s in another marketplace: %v", pattern, role, got)
	}
	if !role.OfVendor() {
		return
	}
	checks := []*httptest.ResponseRecorder{rec}
	refused := func(what, path, body string) {
		t.Helper()
		rec := e.ask(cookie, method, path, body)
		checks = append(checks, rec)
		if got := reactionOf(rec); got != forbidden {
			t.Errorf("%s as %s with %s of another vendor: %v", pattern, role, what, got)
		}
	}
	if strings.Contains(pattern, "{vendor_id}") || strings.Contains(pattern, "/catalogs/vendors/{id}") {
		_, path := consolePath(pattern, "vb", nil)
		refused("the path", path, body)
	}
	for _, query := range []string{"vendor_id=vb", "vendor_id=va&vendor_id=vb", "vendorIds=vb", "VENDOR%5Fid=%76b", "vendor_id=vb;x"} {
		refused("a query", own+"?"+query, body)
	}
	if body != "" {
		refused("a body", own, `{"vendorId":"vb"}`)
		refused("a nested body", own, `{"x":[{"vendor\u0049ds":["va","vb"]}]}`)
	}
	_, objects := consolePath(pattern, "va", e.foreign)
	checks = append(checks, e.ask(cookie, method, objects, body))
	if last := checks[len(checks)-1]; objects != own && allowed && last.Code < 400 {
		t.Errorf("%s as %s on an object of another vendor: %d %s", pattern, role, last.Code, last.Body)
	}
	for _, rec := range checks {
		if strings.Contains(rec.Body.String(), foreignMark) || strings.Contains(rec.Body.String(), e.foreign["campaign_id"]) {
			t.Errorf("%s as %s answers something of another vendor: %s", pattern, role, rec.Body)
		}
	}
}

// tryOthers calls a route as an admin of another marketplace, without a session, and as a page of another origin.
func (e *consoleEnvironment) tryOthers(t *testing.T, pattern, other, allowed string) {
	t.Helper()
	method, path := consolePath(pattern, "va", e.foreign)
	got := reactionOf(e.ask(other, method, path, noBody))
	if ofOperator := strings.HasSuffix(allowed, "*"); ofOperator != (got == reaction{403, "forbidden_role"}) && allowed[0] == 'A' {
		t.Errorf("%s as an admin of another marketplace: %v", pattern, got)
	}
	if strings.Contains(e.ask(other, method, path, noBody).Body.String(), foreignMark) {
		t.Errorf("%s answers an admin of another marketplace with what is in this one", pattern)
	}
	for _, cookie := range []string{"", "gavel_session=x", "gavel_session=" + login.NewSecret(), other + "; " + other} {
		if got := reactionOf(e.ask(cookie, method, path, noBody)); got != (reaction{401, "not_signed_in"}) {
			t.Errorf("%s with the cookie %q: %v", pattern, cookie, got)
		}
	}
	if method == "GET" {
		return
	}
	for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
		if got := reactionOf(e.ask(other, method, path, noBody, name, value)); got != (reaction{403, "cross_origin_request"}) {
			t.Errorf("%s with %s: %s: %v", pattern, name, value, got)
		}
	}
}
