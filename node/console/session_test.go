package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/login"
	"github.com/gavel-ads/gavel/node/manage"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
)

const sessionPath = "/console/api/session"

// credentials is the body of a sign-in of the first admin.
func credentials(password string) string {
	return `{"email":"ada@example.com","password":"` + password + `"}`
}

// on is the same browser at another node.
func (b *browser) on(node http.Handler) *browser {
	moved := *b
	moved.to = node
	return &moved
}

// The cookie is out of reach of scripts and of other sites, and over TLS also of other hosts and of plain connections.
func TestTheCookie(t *testing.T) {
	for url, want := range map[string]http.Cookie{
		"http://gavel.test":  {Name: "gavel_session"},
		"https://gavel.test": {Name: "__Host-gavel_session", Secure: true},
	} {
		c := setUp(t, managetest.NewWith(t, manage.Config{PublicURL: url})).cookie
		if c.Name != want.Name || c.Secure != want.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.MaxAge != 12*3600 {
			t.Errorf("%s: %+v", url, c)
		}
	}
}

// A sign-in takes a new secret whatever the browser sent, so nobody can plant a session; the one that it came with ends.
func TestASessionCannotBeFixed(t *testing.T) {
	env := managetest.New(t)
	ada := setUp(t, env)
	before := *ada
	ada.must(200, "POST", sessionPath, credentials(password))
	if ada.cookie.Value == before.cookie.Value {
		t.Error("a second sign-in kept the secret")
	}
	before.must(401, "GET", sessionPath, "")
	planted := ada.fresh()
	planted.cookie = &http.Cookie{Name: "gavel_session", Value: login.NewSecret()}
	chosen := planted.cookie.Value
	planted.must(200, "POST", sessionPath, credentials(password))
	if planted.cookie.Value == chosen {
		t.Error("a sign-in took the secret that the browser came with")
	}
	// With two cookies of the name nobody knows which one the console has set.
	planted.header["Cookie"] = "gavel_session=" + chosen
	planted.must(401, "GET", sessionPath, "")
}

// The state has no secret of a session: only its hash.
func TestOnlyAHashOfTheSecretIsStored(t *testing.T) {
	env := managetest.New(t)
	ada := setUp(t, env)
	key, ok := login.KeyOf(ada.cookie.Value)
	if !ok {
		t.Fatal("the cookie is no secret")
	}
	l, err := env.Store.People().Login(key)
	if err != nil || l.User.Email != "ada@example.com" || l.Session.Address != "192.0.2.1" {
		t.Errorf("%+v, %v", l, err)
	}
	if strings.Contains(env.Dump(), ada.cookie.Value) || strings.Contains(env.Dump(), password) {
		t.Error("the state has the secret of a session or a password")
	}
	if !strings.Contains(env.Dump(), "ada@example.com") {
		t.Error("the dump of the state lacks its users, so it proves nothing")
	}
}

// A change of the password ends all other sessions, on every node at once, and the own one gets another secret.
func TestAPasswordChangeEndsOtherSessions(t *testing.T) {
	env := managetest.New(t)
	node2 := env.Node(t)
	ada := setUp(t, env)
	other := ada.fresh()
	other.must(200, "POST", sessionPath, credentials(password))
	before := *ada
	const path = "/console/api/password"
	ada.must(401, "PUT", path, `{"current":"wrong password","new":"another password"}`)
	ada.must(400, "PUT", path, `{"current":"`+password+`","new":"short"}`)
	ada.must(200, "GET", sessionPath, "")
	ada.must(204, "PUT", path, `{"current":"`+password+`","new":"another password"}`)
	ada.must(200, "GET", sessionPath, "")
	ada.on(node2).must(200, "GET", sessionPath, "")
	for _, b := range []*browser{other, &before} {
		b.must(401, "GET", keys, "")
		b.on(node2).must(401, "GET", keys, "")
	}
	other.must(401, "POST", sessionPath, credentials(password))
	other.must(200, "POST", sessionPath, credentials("another password"))
}

// A change of the role and a removal end the sessions of a user on every node at once.
func TestAChangeOfTheRoleEndsSessions(t *testing.T) {
	env := managetest.New(t)
	node2 := env.Node(t)
	ada := setUp(t, env)
	bob := invited(t, ada, "bob@example.com", "operator")
	bob.must(200, "GET", "/console/api/v1/audit-service/entries", "")
	id := bob.must(200, "GET", sessionPath, "")["user"].(map[string]any)["id"].(string)
	ada.must(204, "PATCH", "/console/api/users/"+id, `{"role":"analyst"}`)
	bob.must(401, "GET", sessionPath, "")
	bob.on(node2).must(401, "GET", sessionPath, "")
	bob.must(200, "POST", sessionPath, `{"email":"bob@example.com","password":"`+password+`"}`)
	bob.must(403, "GET", "/console/api/v1/audit-service/entries", "")
	ada.must(204, "DELETE", "/console/api/users/"+id, "")
	bob.must(401, "GET", sessionPath, "")
	bob.on(node2).must(401, "GET", sessionPath, "")
	bob.must(401, "POST", sessionPath, `{"email":"bob@example.com","password":"`+password+`"}`)
	own := ada.must(200, "GET", sessionPath, "")["user"].(map[string]any)["id"].(string)
	if a := ada.must(409, "DELETE", "/console/api/users/"+own, ""); !strings.Contains(a["message"].(string), "last admin") {
		t.Errorf("the last admin removes itself: %v", a)
	}
	ada.must(200, "GET", sessionPath, "")
}

// invited invites a person to a role, who accepts.
func invited(t *testing.T, admin *browser, email, role string) *browser {
	t.Helper()
	it := admin.must(200, "POST", "/console/api/users", `{"email":"`+email+`","role":"`+role+`"}`)
	_, token, _ := strings.Cut(it["acceptUrl"].(string), "#token=")
	b := admin.fresh()
	b.must(200, "POST", "/console/api/invitations/accept", `{"token":"`+token+`","name":"`+email+`","password":"`+password+`"}`)
	return b
}

// A session ends after half an hour without a request, whatever node it is on, and after twelve hours in any case. What it does is
// recorded at most once a minute.
func TestASessionEndsWhenIdleAndWhenOld(t *testing.T) {
	env := managetest.New(t)
	go env.Console.Run(t.Context())
	ada := setUp(t, env)
	ada.must(200, "GET", sessionPath, "")
	written := env.Written()
	for range 20 {
		ada.must(200, "GET", sessionPath, "")
	}
	if n := env.Written() - written; n != 0 {
		t.Errorf("20 requests wrote %d commands", n)
	}
	key, _ := login.KeyOf(ada.cookie.Value)
	for n := 0; ; n++ { // Every 20 minutes a request; the session is kept until it is 12 hours old.
		env.Advance(20 * time.Minute)
		old := time.Duration(n+1) * 20 * time.Minute
		if ada.send("GET", sessionPath, "").Code == 401 {
			if old != store.LoginSessionMax {
				t.Errorf("the session ended after %s", old)
			}
			break
		}
		for l, _ := env.Store.People().Login(key); l.NeedsTouch(env.Now()); l, _ = env.Store.People().Login(key) {
			time.Sleep(time.Millisecond) // It is recorded in the background.
		}
	}
	ada.must(200, "POST", sessionPath, credentials(password))
	env.Advance(store.LoginSessionIdle - time.Millisecond)
	idle := *ada
	env.Advance(time.Millisecond)
	idle.must(401, "GET", sessionPath, "")
}

// Recording the time of a request does not revive a session that has ended, and ended sessions are removed from the state.
func TestEndedSessionsStayEnded(t *testing.T) {
	env := managetest.New(t)
	ada := setUp(t, env)
	people := env.Store.People()
	key, _ := login.KeyOf(ada.cookie.Value)
	ada.must(204, "DELETE", sessionPath, "")
	if err := people.Touch(t.Context(), key); err == nil {
		t.Error("a session that was signed out is touched")
	}
	ada.must(200, "POST", sessionPath, credentials(password))
	ada.must(204, "PUT", "/console/api/password", `{"current":"`+password+`","new":"another password"}`)
	for range store.LoginSessionsOfUser + 5 {
		ada.fresh().must(200, "POST", sessionPath, credentials("another password"))
	}
	u, err := people.UserByEmail("ada@example.com")
	if err != nil {
		t.Fatal(err)
	}
	if open, err := people.LoginSessions(&u); len(open) != store.LoginSessionsOfUser || err != nil {
		t.Errorf("%d sessions are open, %v", len(open), err)
	}
	env.Advance(store.LoginSessionIdle)
	if n, err := people.PruneLogins(t.Context()); n != store.LoginSessionsOfUser || err != nil {
		t.Errorf("%d sessions were removed, %v", n, err)
	}
}

// Guessing is answered 429 with the time of the next attempt, also for addresses that nobody has.
func TestGuessingIsLockedOut(t *testing.T) {
	env := managetest.New(t)
	setUp(t, env)
	eve := newBrowser(t, env)
	for _, email := range []string{"ada@example.com", "nobody@example.com"} {
		for range 10 {
			eve.must(401, "POST", sessionPath, `{"email":"`+email+`","password":"wrong password"}`)
		}
		w := eve.send("POST", sessionPath, `{"email":"`+email+`","password":"`+password+`"}`)
		if w.Code != 429 || w.Header().Get("X-RateLimit-Reset") != "1773740700" || w.Header().Get("Retry-After") != "900" {
			t.Errorf("%s: %d %v", email, w.Code, w.Header())
		}
	}
	elsewhere := eve.fresh()
	elsewhere.address = "198.51.100.7:1"
	elsewhere.must(200, "POST", sessionPath, credentials(password))
	env.Advance(login.LockWindow)
	eve.must(200, "POST", sessionPath, credentials(password))
}
