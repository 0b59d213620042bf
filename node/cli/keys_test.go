package cli

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/operator"
)

// status returns the status of a request of the list of keys with a key.
func listStatus(t *testing.T, manage, key string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, manage+"/public/v1/key-service/keys", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close() // Only the status matters.
	return answer.StatusCode
}

// Whoever administers the machine makes a management key without another one, while the node runs and while it is
// stopped; both work, and a replaced one does not any more.
func TestKeysAreMadeOnTheMachine(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	create := func(args ...string) string {
		t.Helper()
		r := gavel(nil, append([]string{"keys", "create", "--kind=management", "--data-dir", dir}, args...)...)
		if r.code != exitSuccess || !strings.HasPrefix(r.out, "gavel_mgt_") || strings.Count(r.out, "\n") != 1 {
			t.Fatalf("keys create %q: code %d: %s%s", args, r.code, r.out, r.err)
		}
		return strings.TrimSpace(r.out)
	}
	if r := gavel(nil, "keys", "create", "--kind=management", "--data-dir", dir); r.code != exitFailed || !strings.Contains(r.err, "no node was started") {
		t.Errorf("an empty directory: code %d: %s", r.code, r.err)
	}
	manage, stop := runNode(t, "serve", "--data-dir="+dir)
	if info, err := os.Stat(operator.LocalSocketPath(dir)); err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	running := create("--name=while it ran")
	if got := listStatus(t, manage, running); got != http.StatusOK {
		t.Errorf("the key of a running node: %d", got)
	}
	listed := gavel(nil, "keys", "list", "--data-dir", dir)
	id := regexp.MustCompile(`(?m)^(\S+) +management +while it ran `).FindStringSubmatch(listed.out)
	if id == nil || strings.Count(listed.out, "\n") != 4 { // The first two and the new one.
		t.Fatalf("code %d: %s%s", listed.code, listed.out, listed.err)
	}
	if r := gavel(nil, "keys", "revoke", "--data-dir", dir, "nonsense"); r.code != exitFailed || !strings.Contains(r.err, "no such marketplace or key") {
		t.Errorf("an unknown key: code %d: %s", r.code, r.err)
	}
	if r := gavel(nil, "keys", "create", "--kind=management", "--replace=nonsense", "--data-dir", dir); r.code != exitFailed || r.out != "" || !strings.Contains(r.err, `no key "nonsense"`) {
		t.Errorf("an unknown key to replace: code %d: %s%s", r.code, r.out, r.err)
	}
	if again := gavel(nil, "keys", "list", "--data-dir", dir); again.out != listed.out {
		t.Errorf("then there are other keys: %s", again.out)
	}
	name := strings.Repeat("é", 64)
	create("--name=" + name)
	if r := gavel(nil, "keys", "create", "--kind=management", "--name="+name+"é", "--data-dir", dir); r.code != exitFailed || !strings.Contains(r.err, "1 to 64 characters") {
		t.Errorf("a long name: code %d: %s", r.code, r.err)
	}
	stop()
	if _, err := os.Stat(operator.LocalSocketPath(dir)); !os.IsNotExist(err) {
		t.Errorf("the socket stays: %v", err)
	}

	stopped := create("--replace=" + id[1])
	manage, _ = runNode(t, "serve", "--data-dir="+dir)
	if got := listStatus(t, manage, stopped); got != http.StatusOK {
		t.Errorf("the key of a stopped node: %d", got)
	}
	if got := listStatus(t, manage, running); got != http.StatusUnauthorized {
		t.Errorf("the replaced key: %d", got)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, manage+"/public/v1/audit-service/entries", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+stopped)
	log := answerOf(t, r)
	if n := strings.Count(log, `"keyId":"local"`); n != 4 || strings.Contains(log, stopped) || strings.Contains(log, running) {
		t.Errorf("%d of 4 entries in the audit log: %s", n, log)
	}
}

// The last management key is not revoked, whoever asks.
func TestTheLastManagementKeyStays(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	runNode(t, "serve", "--data-dir="+dir)
	listed := gavel(nil, "keys", "list", "--data-dir", dir)
	id := regexp.MustCompile(`(?m)^(\S+) +management `).FindStringSubmatch(listed.out)
	if id == nil {
		t.Fatalf("code %d: %s%s", listed.code, listed.out, listed.err)
	}
	if r := gavel(nil, "keys", "revoke", "--data-dir", dir, id[1]); r.code != exitFailed || !strings.Contains(r.err, "last management key") {
		t.Errorf("code %d: %s%s", r.code, r.out, r.err)
	}
}

func answerOf(t *testing.T, r *http.Request) string {
	t.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close() // It was read completely.
	return string(text)
}
