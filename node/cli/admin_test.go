package cli

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// signInStatus returns the status of a sign-in to the console.
func signInStatus(t *testing.T, manage, email, password string) int {
	t.Helper()
	body := strings.NewReader(fmt.Sprintf(`{"email":%q,"password":%q}`, email, password))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, manage+"/console/api/session", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close() // Only the status matters.
	return answer.StatusCode
}

// Whoever administers the machine makes, lists and removes admins of the console and resets their passwords, while the node runs and
// while it is stopped; the last admin stays.
func TestAdminsAreMadeOnTheMachine(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	admin := func(code int, says string, args ...string) string {
		t.Helper()
		r := gavel(nil, append([]string{"admin"}, append(args, "--data-dir", dir)...)...)
		if r.code != code || !strings.Contains(r.out+r.err, says) {
			t.Fatalf("admin %q: code %d: %s%s, want %d, %q", args, r.code, r.out, r.err, code, says)
		}
		return r.out
	}
	printed := regexp.MustCompile(`shown this once: (\S+)\n`)
	manage, stop := runNode(t, "serve", "--data-dir="+dir)
	first := printed.FindStringSubmatch(admin(exitSuccess, "ada@example.com", "create", "ada@example.com"))[1]
	if code := signInStatus(t, manage, "ada@example.com", first); code != http.StatusOK {
		t.Errorf("with the printed password: %d", code)
	}
	admin(exitFailed, "ada@example.com is an admin already", "create", "ada@example.com")
	if code := signInStatus(t, manage, "ada@example.com", first); code != http.StatusOK {
		t.Errorf("after a second create: %d", code)
	}
	admin(exitFailed, "email must be", "create", "nonsense")
	admin(exitFailed, "this is the last admin", "remove", "ada@example.com")
	admin(exitFailed, "no user of the console", "remove", "nobody@example.com")
	second := printed.FindStringSubmatch(admin(exitSuccess, "", "reset-password", "ada@example.com"))[1]
	if code := signInStatus(t, manage, "ada@example.com", first); code != http.StatusUnauthorized {
		t.Errorf("with the password before the reset: %d", code)
	}
	stop()
	admin(exitSuccess, "bob@example.com", "create", "bob@example.com", "--name", "Bob")
	admin(exitFailed, "no user of the console", "remove", "nobody@example.com")
	if list := admin(exitSuccess, "Bob", "list"); strings.Count(list, "\n") != 3 || !strings.Contains(list, "ada@example.com") {
		t.Errorf("the list is %s", list)
	}
	manage, _ = runNode(t, "serve", "--data-dir="+dir)
	if code := signInStatus(t, manage, "ada@example.com", second); code != http.StatusOK {
		t.Errorf("after a restart: %d", code)
	}
}
