package console_test

import (
	"crypto/hmac"
	"crypto/sha1" // RFC 6238.
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/login"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
)

const factorPath = "/console/api/second-factor"

// phone is an app that shows the codes of a secret.
type phone string

// shows returns the code that the app shows at a time.
func (p phone) shows(at time.Time) string {
	secret, err := base32.StdEncoding.DecodeString(string(p))
	if err != nil {
		panic(err)
	}
	mac := hmac.New(sha1.New, secret)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(at.Unix()/30)))
	sum := mac.Sum(nil)
	from := sum[19] & 15
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[from:from+4])%(1<<31)%1_000_000)
}

// wrong returns a code that is none of those around a time.
func (p phone) wrong(at time.Time) string {
	for guess := 0; ; guess++ {
		text, taken := fmt.Sprintf("%06d", guess), false
		for near := -2; near <= 2; near++ {
			taken = taken || text == p.shows(at.Add(time.Duration(near)*30*time.Second))
		}
		if !taken {
			return text
		}
	}
}

// signInBody is the body of a sign-in of the first admin with a code.
func signInBody(code string) string {
	return `{"email":"ada@example.com","password":"` + password + `","code":"` + code + `"}`
}

// withFactor turns the second factor of a browser's user on, and returns the phone and the recovery codes. The next code is a minute
// later.
func withFactor(b *browser) (phone, []string) {
	b.Helper()
	made := b.must(200, "POST", factorPath, `{"password":"`+password+`"}`)
	p := phone(made["secret"].(string))
	if address := made["address"].(string); !strings.HasPrefix(address, "otpauth://totp/Gavel:") || !strings.Contains(address, string(p)) {
		b.Errorf("the address is %s", address)
	}
	if !strings.HasPrefix(made["qrCode"].(string), "<svg ") {
		b.Error("there is no QR code")
	}
	codes := []string{}
	for _, code := range b.must(200, "PUT", factorPath, `{"code":"`+p.shows(b.env.Now())+`"}`)["codes"].([]any) {
		codes = append(codes, code.(string))
	}
	b.env.Advance(time.Minute)
	return p, codes
}

// refusedAs sends a request that must be refused with a status and an errCode.
func (b *browser) refusedAs(status int, code, method, path, body string) {
	b.Helper()
	if a := b.must(status, method, path, body); a["errCode"] != code {
		b.Errorf("%s %s: %v, want %s", method, path, a, code)
	}
}

// With a second factor a sign-in takes the password and a code; a code is accepted once, on every node.
func TestASecondFactorIsAskedFor(t *testing.T) {
	env := managetest.New(t)
	node2 := env.Node(t)
	ada := setUp(t, env)
	if a := ada.must(200, "GET", factorPath, ""); a["on"] != false || a["hasPassword"] != true {
		t.Errorf("at first: %v", a)
	}
	p, _ := withFactor(ada)
	if a := ada.must(200, "GET", factorPath, ""); a["on"] != true || a["recoveryCodes"] != 10.0 {
		t.Errorf("when it is on: %v", a)
	}
	b := ada.fresh()
	b.refusedAs(401, "wrong_credentials", "POST", sessionPath, `{"email":"ada@example.com","password":"wrong password","code":"`+p.shows(env.Now())+`"}`)
	b.refusedAs(401, "second_factor_required", "POST", sessionPath, credentials(password))
	if b.cookie != nil {
		t.Error("there is a cookie before the second factor")
	}
	b.refusedAs(401, "second_factor_required", "POST", sessionPath, signInBody(p.wrong(env.Now())))
	code := p.shows(env.Now())
	b.must(200, "POST", sessionPath, signInBody(code))
	b.must(200, "GET", keys, "")
	for _, again := range []*browser{ada.fresh(), ada.fresh().on(node2)} {
		again.refusedAs(401, "second_factor_required", "POST", sessionPath, signInBody(code))
	}
	env.Advance(30 * time.Second)
	ada.fresh().on(node2).must(200, "POST", sessionPath, signInBody(p.shows(env.Now())))
	env.Advance(2 * time.Minute)
	old := p.shows(env.Now().Add(-time.Minute))
	ada.fresh().refusedAs(401, "second_factor_required", "POST", sessionPath, signInBody(old))
}

// Of many sign-ins at the same moment with one code, one succeeds.
func TestACodeSignsInOnce(t *testing.T) {
	env := managetest.New(t)
	p, _ := withFactor(setUp(t, env))
	body, status := signInBody(p.shows(env.Now())), make(chan int)
	for range 4 {
		b := newBrowser(t, env)
		go func() { status <- b.send("POST", sessionPath, body).Code }()
	}
	signedIn := 0
	for range 4 {
		switch code := <-status; code {
		case 200:
			signedIn++
		case 401, 409: // 409 when the record changed at every attempt.
		default:
			t.Errorf("status %d", code)
		}
	}
	if signedIn != 1 {
		t.Errorf("%d sign-ins with one code", signedIn)
	}
}

// Turning the second factor on ends the sessions that began without it, and gives the own one another secret.
func TestASecondFactorEndsSessionsWithoutIt(t *testing.T) {
	env := managetest.New(t)
	node2 := env.Node(t)
	ada := setUp(t, env)
	other, before := ada.fresh(), *ada
	other.must(200, "POST", sessionPath, credentials(password))
	before.cookie = ada.cookie
	withFactor(ada)
	if ada.cookie.Value == before.cookie.Value {
		t.Error("the session kept its secret")
	}
	ada.must(200, "GET", keys, "")
	ada.on(node2).must(200, "GET", keys, "")
	for _, b := range []*browser{other, &before} {
		b.must(401, "GET", keys, "")
		b.on(node2).must(401, "GET", keys, "")
	}
}

// A cookie that somebody planted before the sign-in opens nothing after it, whether the code was missing, wrong or right.
func TestASecondFactorCannotBeFixed(t *testing.T) {
	env := managetest.New(t)
	p, _ := withFactor(setUp(t, env))
	planted := newBrowser(t, env)
	planted.cookie = &http.Cookie{Name: "gavel_session", Value: login.NewSecret()}
	eve := *planted
	for _, body := range []string{credentials(password), signInBody(p.wrong(env.Now())), signInBody(p.shows(env.Now()))} {
		planted.send("POST", sessionPath, body)
		eve.must(401, "GET", sessionPath, "")
	}
	planted.must(200, "GET", sessionPath, "")
	if planted.cookie.Value == eve.cookie.Value {
		t.Error("the sign-in took the secret that the browser came with")
	}
}

// A second factor that was begun and not confirmed is not asked for, and no code of an earlier secret confirms it.
func TestASecondFactorCountsWhenItIsConfirmed(t *testing.T) {
	env := managetest.New(t)
	ada := setUp(t, env)
	ada.refusedAs(409, "invalid_operation", "PUT", factorPath, `{"code":"000000"}`)
	ada.refusedAs(401, "wrong_credentials", "POST", factorPath, `{"password":"wrong password"}`)
	newBrowser(t, env).refusedAs(401, "not_signed_in", "POST", factorPath, `{"password":"`+password+`"}`)
	first := phone(ada.must(200, "POST", factorPath, `{"password":"`+password+`"}`)["secret"].(string))
	second := phone(ada.must(200, "POST", factorPath, `{"password":"`+password+`"}`)["secret"].(string))
	ada.fresh().must(200, "POST", sessionPath, credentials(password))
	if code := first.shows(env.Now()); code != second.shows(env.Now()) {
		ada.refusedAs(400, "bad_request", "PUT", factorPath, `{"code":"`+code+`"}`)
	}
	ada.refusedAs(400, "bad_request", "PUT", factorPath, `{"code":"`+second.wrong(env.Now())+`"}`)
	ada.must(200, "PUT", factorPath, `{"code":"`+second.shows(env.Now())+`"}`)
	ada.refusedAs(409, "invalid_operation", "POST", factorPath, `{"password":"`+password+`"}`)
	ada.refusedAs(409, "invalid_operation", "PUT", factorPath, `{"code":"`+second.shows(env.Now())+`"}`)
	ada.fresh().refusedAs(401, "second_factor_required", "POST", sessionPath, signInBody(second.shows(env.Now())))
}

// Each recovery code signs in once, new ones replace all old ones, and the state has none of them.
func TestRecoveryCodesSignInOnce(t *testing.T) {
	env := managetest.New(t)
	ada := setUp(t, env)
	p, codes := withFactor(ada)
	if dump := env.Dump(); strings.Contains(dump, codes[0]) || strings.Contains(dump, strings.ReplaceAll(codes[0], "-", "")) || !strings.Contains(dump, "factor-") {
		t.Error("the state has a recovery code, or lacks the second factor")
	}
	ada.fresh().must(200, "POST", sessionPath, signInBody(strings.ToUpper(codes[3])))
	ada.fresh().refusedAs(401, "second_factor_required", "POST", sessionPath, signInBody(codes[3]))
	if a := ada.must(200, "GET", factorPath, ""); a["recoveryCodes"] != 9.0 {
		t.Errorf("one was used: %v", a)
	}
	const replace = factorPath + "/recovery-codes"
	ada.refusedAs(401, "second_factor_required", "POST", replace, `{"password":"`+password+`","code":""}`)
	fresh := ada.must(200, "POST", replace, `{"password":"`+password+`","code":"`+p.shows(env.Now())+`"}`)["codes"].([]any)
	ada.fresh().refusedAs(401, "second_factor_required", "POST", sessionPath, signInBody(codes[0]))
	ada.fresh().must(200, "POST", sessionPath, signInBody(fresh[0].(string)))
	used := ada.must(200, "GET", "/console/api/v1/audit-service/entries?operation=useRecoveryCode", "")["entries"].([]any)
	if len(used) != 2 || used[0].(map[string]any)["userEmail"] != "ada@example.com" {
		t.Errorf("the audit log has %v", used)
	}
}

// Whoever knows the password guesses ten codes and is locked out, whatever is sent in between.
func TestGuessingCodesIsLockedOut(t *testing.T) {
	env := managetest.New(t)
	p, codes := withFactor(setUp(t, env))
	eve := newBrowser(t, env)
	for range 5 {
		eve.must(401, "POST", sessionPath, signInBody(p.wrong(env.Now())))
		eve.must(401, "POST", sessionPath, credentials(password))
		eve.must(401, "POST", sessionPath, signInBody("aaaa-aaaa-aaaa-aaaa"))
	}
	for _, code := range []string{"", p.shows(env.Now()), codes[0]} {
		if w := eve.send("POST", sessionPath, signInBody(code)); w.Code != 429 || w.Header().Get("Retry-After") != "900" {
			t.Errorf("after ten guesses: %d %v", w.Code, w.Header())
		}
	}
	elsewhere := eve.fresh()
	elsewhere.address = "198.51.100.7:1"
	elsewhere.must(200, "POST", sessionPath, signInBody(p.shows(env.Now())))
}

// The user turns it off with the password and a code; then a password is enough.
func TestASecondFactorIsTurnedOff(t *testing.T) {
	env := managetest.New(t)
	ada := setUp(t, env)
	p, _ := withFactor(ada)
	const off = factorPath + "/off"
	ada.refusedAs(401, "wrong_credentials", "POST", off, `{"password":"wrong password","code":"`+p.shows(env.Now())+`"}`)
	ada.refusedAs(401, "second_factor_required", "POST", off, `{"password":"`+password+`","code":"`+p.wrong(env.Now())+`"}`)
	ada.must(204, "POST", off, `{"password":"`+password+`","code":"`+p.shows(env.Now())+`"}`)
	ada.fresh().must(200, "POST", sessionPath, credentials(password))
	for _, operation := range []string{"turnOnSecondFactor", "turnOffSecondFactor"} {
		if n := len(ada.must(200, "GET", "/console/api/v1/audit-service/entries?operation="+operation, "")["entries"].([]any)); n != 1 {
			t.Errorf("the audit log has %d entries of %s", n, operation)
		}
	}
	if strings.Contains(env.Dump(), "factor-") {
		t.Error("the state still has the secret")
	}
}

// An admin resets the second factor of a colleague, not the own one, and not that of somebody who also works elsewhere. A new admin
// password that is set on the machine resets it, too.
func TestAnAdminResetsASecondFactor(t *testing.T) {
	env := managetest.New(t)
	ada := setUp(t, env)
	bob := invited(t, ada, "bob@example.com", "admin")
	withFactor(bob)
	id := func(b *browser) string {
		return b.must(200, "GET", sessionPath, "")["user"].(map[string]any)["id"].(string)
	}
	reset := func(of string) string { return "/console/api/second-factors/" + of }
	listed := 0
	for _, one := range ada.must(200, "GET", "/console/api/users", "")["users"].([]any) {
		if u := one.(map[string]any); u["secondFactor"] != (u["email"] == "bob@example.com") {
			t.Errorf("the list says %v", u)
		}
		listed++
	}
	if listed != 2 {
		t.Errorf("%d users are listed", listed)
	}
	bob.refusedAs(409, "invalid_operation", "DELETE", reset(id(bob)), "")
	bob.must(404, "DELETE", reset(id(ada)), "") // Ada has none.
	ada.must(404, "DELETE", reset("00000000-0000-7000-8000-00000000ffff"), "")
	ada.must(204, "DELETE", reset(id(bob)), "")
	bob.fresh().must(200, "POST", sessionPath, `{"email":"bob@example.com","password":"`+password+`"}`)

	people := env.Store.People()
	elsewhere := store.ConsoleAccess{Marketplace: managetest.Other, Role: store.RoleAdmin}
	carl, err := people.Create(t.Context(), store.ConsoleUser{Email: "carl@example.com", Access: []store.ConsoleAccess{elsewhere}})
	if err != nil {
		t.Fatal(err)
	}
	both := store.ConsoleUser{Email: "dora@example.com", Access: []store.ConsoleAccess{elsewhere, {Marketplace: managetest.Main, Role: store.RoleAnalyst}}}
	if both, err = people.Create(t.Context(), both); err != nil {
		t.Fatal(err)
	}
	secret := login.NewSecret()
	key, _ := login.KeyOf(secret)
	if _, err := people.SignIn(t.Context(), &carl, key, store.LoginSession{}); err != nil {
		t.Fatal(err)
	}
	other := newBrowser(t, env)
	other.cookie = &http.Cookie{Name: "gavel_session", Value: secret}
	other.must(404, "DELETE", reset(id(ada)), "") // Ada has no right there.
	other.refusedAs(403, "forbidden_role", "DELETE", reset(both.ID.String()), "")

	withFactor(ada)
	if err := env.Console.ResetPassword(t.Context(), "ada@example.com", password); err != nil {
		t.Fatal(err)
	}
	ada.fresh().must(200, "POST", sessionPath, credentials(password))
}

// An invitation that an account accepts signs it in, so it asks for the second factor as well; it works afterwards.
func TestAnInvitationAsksForTheSecondFactor(t *testing.T) {
	env := managetest.New(t)
	ada := setUp(t, env)
	bob := invited(t, ada, "bob@example.com", "analyst")
	p, _ := withFactor(bob)
	it := ada.must(200, "POST", "/console/api/users", `{"email":"bob@example.com","role":"operator"}`)
	_, token, _ := strings.Cut(it["acceptUrl"].(string), "#token=")
	const accept = "/console/api/invitations/accept"
	b := ada.fresh()
	b.refusedAs(401, "second_factor_required", "POST", accept, `{"token":"`+token+`","password":"`+password+`"}`)
	b.must(200, "POST", accept, `{"token":"`+token+`","password":"`+password+`","code":"`+p.shows(env.Now())+`"}`)
}
