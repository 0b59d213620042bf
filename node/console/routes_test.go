package console_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/console"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
)

// ownRoutes says who may call each of the console's own routes: A admin, O operator, a analyst, V vendor admin, v vendor analyst, - not
// this one. With * only an admin of the first marketplace is let in. "own" routes concern the account of the caller alone, whatever its
// roles; "open" ones ask for no session, because they show the pages, or prove who the caller is. Operations of /public/v1 and of the
// cluster are in node/manage/testdata/roles.txt.
var ownRoutes = map[string]struct{ who, body string }{
	"GET /{$}":                                              {"open", ""},
	"GET /console":                                          {"open", ""},
	"GET /console/{path...}":                                {"open", ""},
	"GET /console/api/{path...}":                            {"open", ""},
	"GET /console/api/session":                              {"own", ""},
	"POST /console/api/session":                             {"open", ""},
	"DELETE /console/api/session":                           {"open", ""},
	"POST /console/api/setup":                               {"open", ""},
	"POST /console/api/invitations/accept":                  {"open", ""},
	"GET /console/api/oidc/start":                           {"open", ""},
	"GET /console/api/oidc/callback":                        {"open", ""},
	"PUT /console/api/password":                             {"own", `{"current":"wrong password","new":"another password"}`},
	"GET /console/api/second-factor":                        {"own", ""},
	"POST /console/api/second-factor":                       {"own", `{"password":"wrong password"}`},
	"PUT /console/api/second-factor":                        {"own", `{"code":"000000"}`},
	"POST /console/api/second-factor/off":                   {"own", `{"password":"wrong password","code":"000000"}`},
	"POST /console/api/second-factor/recovery-codes":        {"own", `{"password":"wrong password","code":"000000"}`},
	"DELETE /console/api/second-factors/{user_id}":          {"A----", ""},
	"GET /console/api/users":                                {"A----", ""},
	"POST /console/api/users":                               {"A----", `{"email":"new@example.com","role":"analyst"}`},
	"PATCH /console/api/users/{user_id}":                    {"A----", `{"role":"analyst"}`},
	"DELETE /console/api/users/{user_id}":                   {"A----", ""},
	"DELETE /console/api/users/invitations/{invitation_id}": {"A----", ""},
	"GET /console/api/purchases":                            {"AOa--", ""},
	"GET /console/api/purchases/newest":                     {"AOa--", ""},
	"GET /console/api/served-ads":                           {"AOa--", ""},
	"GET /console/api/live":                                 {"AOa--", ""},
	"GET /console/api/settings":                             {"A----*", ""},
	"GET /console/api/log":                                  {"A----*", ""},
}

// matrix is a node with a user of each role in the main marketplace, an admin of another one, and a colleague who is acted upon.
type matrix struct {
	*testing.T
	url       string
	roles     []*browser // In the order of the columns.
	other     *browser
	colleague string
}

const otherMarketplace = "00000000-0000-7000-8000-000000000002"

func newMatrix(t *testing.T) *matrix {
	env := managetest.New(t)
	ada := setUp(t, env)
	ada.must(200, "PUT", "/console/api/v1/catalog-search-service/catalogs/vendors", `{"vendors":[{"id":"va","name":"A"},{"id":"vb","name":"B"}]}`)
	server := httptest.NewServer(env)
	t.Cleanup(server.Close)
	m := &matrix{T: t, url: server.URL, roles: []*browser{ada}}
	for _, role := range []store.ConsoleRole{store.RoleOperator, store.RoleAnalyst, store.RoleVendorAdmin, store.RoleVendorAnalyst} {
		access := store.ConsoleAccess{Marketplace: managetest.Main, Role: role}
		if role.OfVendor() {
			access.Vendor = "va"
		}
		m.roles = append(m.roles, signedIn(t, env, access))
	}
	m.other = signedIn(t, env, store.ConsoleAccess{Marketplace: managetest.Other, Role: store.RoleAdmin})
	colleague := signedInAs(t, env, "colleague@example.com", store.ConsoleAccess{Marketplace: managetest.Main, Role: store.RoleAnalyst})
	m.colleague = colleague.must(200, "GET", sessionPath, "")["user"].(map[string]any)["id"].(string)
	return m
}

// ask calls a route and returns status and errCode of the answer, and its text unless it is a stream.
func (m *matrix) ask(b *browser, pattern, body string, headers ...string) (status int, errCode, text string) {
	m.Helper()
	method, path, _ := strings.Cut(pattern, " ")
	path = strings.NewReplacer("{user_id}", m.colleague, "{invitation_id}", otherMarketplace).Replace(path)
	r, err := http.NewRequestWithContext(m.Context(), method, m.url+path, strings.NewReader(body))
	if err != nil {
		m.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if b != nil && b.cookie != nil {
		r.AddCookie(b.cookie)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		m.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.Header.Get("Content-Type") == "text/event-stream" {
		return answer.StatusCode, "", ""
	}
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		m.Fatal(err)
	}
	var refusal struct{ ErrCode string }
	_ = json.Unmarshal(all, &refusal) // An empty answer is no JSON.
	return answer.StatusCode, refusal.ErrCode, string(all)
}

// TestOwnRoutesMatrix: each of the console's own routes with every role, for another vendor, in another marketplace, by an admin of
// another marketplace, without a session, and from a page of another origin.
func TestOwnRoutesMatrix(t *testing.T) {
	m := newMatrix(t)
	env := managetest.New(t)
	for pattern := range env.Console.Routes(console.Listener{}) {
		if _, known := ownRoutes[pattern]; !known {
			t.Errorf("there is no row for %s: say who may call it", pattern)
		}
	}
	for pattern, row := range ownRoutes {
		if _, known := env.Console.Routes(console.Listener{})[pattern]; !known {
			t.Errorf("there is a row for %s, which is no route", pattern)
		}
		switch row.who {
		case "open":
		case "own":
			m.tryOwn(pattern, row.body)
		default:
			m.tryRoles(pattern, row.who, row.body)
		}
	}
	for i, b := range m.roles {
		if status, _, _ := m.ask(b, "GET /console/api/session", ""); status != 200 {
			t.Errorf("after all that the session of role %d is answered %d", i, status)
		}
	}
}

// tryOwn calls a route of the own account.
func (m *matrix) tryOwn(pattern, body string) {
	m.Helper()
	for i, b := range append(m.roles, m.other) {
		if status, code, _ := m.ask(b, pattern, body); code == "forbidden_role" || code == "not_signed_in" || status >= 500 {
			m.Errorf("%s as role %d: %d %s", pattern, i, status, code)
		}
	}
	m.tryNobody(pattern, body)
}

// tryNobody calls a route without a session and from another origin.
func (m *matrix) tryNobody(pattern, body string) {
	m.Helper()
	if status, code, _ := m.ask(nil, pattern, body); status != 401 || code != "not_signed_in" {
		m.Errorf("%s without a session: %d %s", pattern, status, code)
	}
	if strings.HasPrefix(pattern, "GET ") {
		return
	}
	if status, code, _ := m.ask(m.roles[0], pattern, body, "Sec-Fetch-Site", "cross-site"); status != 403 || code != "cross_origin_request" {
		m.Errorf("%s from another origin: %d %s", pattern, status, code)
	}
}

// tryRoles calls a route that has a rule. Admins come last, because what they may do removes the colleague.
func (m *matrix) tryRoles(pattern, who, body string) {
	m.Helper()
	m.tryNobody(pattern, body)
	refused := func(as string, b *browser, headers ...string) {
		m.Helper()
		if status, code, _ := m.ask(b, pattern, body, headers...); status != 403 || code != "forbidden_role" {
			m.Errorf("%s as %s: %d %s", pattern, as, status, code)
		}
	}
	for i, b := range m.roles {
		refused("role "+who[i:i+1]+" in another marketplace", b, "X-Gavel-Marketplace", otherMarketplace)
	}
	for i := 3; i < 5; i++ {
		refused("somebody of another vendor", m.roles[i], "X-Gavel-Vendor", "vb")
	}
	if strings.HasSuffix(who, "*") {
		refused("an admin of another marketplace", m.other)
	} else if status, code, text := m.ask(m.other, pattern, body); code == "forbidden_role" || strings.Contains(text, "colleague@") ||
		strings.Contains(pattern, "{user_id}") && status != 404 {
		m.Errorf("%s as an admin of another marketplace: %d %s %s", pattern, status, code, text)
	}
	for i, role := range slices.Backward(m.roles) {
		if who[i] == '-' {
			refused("a role that it is not for", role)
			continue
		}
		if status, code, _ := m.ask(role, pattern, body); status == 401 || code == "forbidden_role" || status >= 500 {
			m.Errorf("%s as role %c: %d %s", pattern, who[i], status, code)
		}
	}
}
