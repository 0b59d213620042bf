package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/daemon"
	"github.com/gavel-ads/gavel/node/fsck"
)

// screen collects what a running node prints.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *output) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *output) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// runNode runs a real node with a command line and returns its management address and a function that stops it.
func runNode(t *testing.T, args ...string) (manage string, stop func()) {
	t.Helper()
	return runNodeTo(t, &output{}, args...)
}

// runNodeTo is runNode with the output.
func runNodeTo(t *testing.T, out *output, args ...string) (manage string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{out: out, err: out, start: func(_ context.Context, cfg config.Config, o daemon.Options) error {
		return daemon.Run(ctx, cfg, o)
	}}
	ended := make(chan int, 1)
	go func() {
		ended <- p.run(append(args, "--auction-listen=127.0.0.1:0", "--manage-listen=127.0.0.1:0", "--log-level=error"))
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if code := <-ended; code != exitSuccess {
			t.Errorf("%q: code %d\n%s", args, code, out)
		}
	})
	t.Cleanup(stop)
	url := regexp.MustCompile(`(http://[0-9.:]+)/docs`)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if found := url.FindStringSubmatch(out.String()); found != nil {
			return found[1], stop
		}
	}
	t.Fatalf("%q does not start:\n%s", args, out)
	return "", nil
}

// firstKeys are the keys in the file of --keys-file.
type firstKeys struct{ AuctionKey, ManagementKey string }

func keysIn(t *testing.T, file string) (keys firstKeys) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(text, &keys) != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return keys
}

func checkedDirectory(t *testing.T, dir string) (r fsck.Report) {
	t.Helper()
	ran := gavel(nil, "check", "--json", "--data-dir", dir)
	if ran.code != exitSuccess {
		t.Fatalf("check %s: code %d: %s%s", dir, ran.code, ran.out, ran.err)
	}
	if err := json.Unmarshal([]byte(ran.out), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func charges(r *fsck.Report) (n int64) {
	for i := range r.Groups {
		n += r.Groups[i].Charges
	}
	return n
}

// TestBackupOfARunningMarket backs up a node while shoppers click, restores the backup into a new directory and starts
// it: every balance is that of the backup, to the micro-unit.
func TestBackupOfARunningMarket(t *testing.T) {
	dir := t.TempDir()
	keys, first := filepath.Join(dir, "keys.json"), filepath.Join(dir, "first")
	manage, stop := runNode(t, "demo", "--products=200", "--vendors=10", "--campaigns=20", "--shoppers=20", "--history-days=0", "--groups=2",
		"--data-dir="+first, "--keys-file="+keys)
	environ := []string{"GAVEL_MANAGE=" + manage, "GAVEL_MANAGE_KEY=" + keysIn(t, keys).ManagementKey}

	file := filepath.Join(dir, "backup")
	var second string
	var saved fsck.Report
	for try := 0; charges(&saved) == 0; try++ {
		if try == 100 {
			t.Fatal("the shoppers caused no charge")
		}
		time.Sleep(50 * time.Millisecond)
		if r := gavel(environ, "backup", "--force", "--out", file); r.code != exitSuccess || !strings.Contains(r.out, "verified") {
			t.Fatalf("backup: code %d: %s%s", r.code, r.out, r.err)
		}
		second = filepath.Join(dir, fmt.Sprint("second-", try))
		if r := gavel(nil, "restore", "--data-dir", second, "--in", file); r.code != exitSuccess || !strings.Contains(r.out, "every balance matches the journal") ||
			!strings.Contains(r.out, "WARNING: what was written after 20") || r.err != "" {
			t.Fatalf("restore: code %d: %s%s", r.code, r.out, r.err)
		}
		saved = checkedDirectory(t, second)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup's mode: %v, %v", info.Mode(), err)
	}
	if r := gavel(environ, "backup", "--out", file); r.code != exitUsage || !strings.Contains(r.err, "--force") {
		t.Errorf("an existing file: code %d: %s", r.code, r.err)
	}
	stop()
	tryRestores(t, dir, file, &saved)
	if r := gavel(nil, "recover", "--data-dir", second, "--i-accept-loss"); r.code != exitSuccess || !strings.Contains(r.out, "only voter") {
		t.Errorf("recover: code %d: %s%s", r.code, r.out, r.err)
	}

	_, stop = runNode(t, "serve", "--data-dir="+second)
	stop()
	now, last := checkedDirectory(t, second), checkedDirectory(t, first)
	later := map[string]fsck.Campaign{}
	for _, c := range last.Campaigns {
		later[c.ID] = c
	}
	if len(now.Campaigns) != len(saved.Campaigns) || len(now.Campaigns) < 20 { // The demo adds campaigns of its own.
		t.Fatalf("%d campaigns, %d in the backup", len(now.Campaigns), len(saved.Campaigns))
	}
	for i, c := range now.Campaigns {
		if c != saved.Campaigns[i] {
			t.Errorf("after the start %+v, in the backup %+v", c, saved.Campaigns[i])
		}
		if c.Spent > later[c.ID].Spent || c.Clicks > later[c.ID].Clicks {
			t.Errorf("the backup has more than its node: %+v, %+v", c, later[c.ID])
		}
	}
	if charges(&last) < charges(&saved) {
		t.Errorf("%d charges in the backup, %d on its node", charges(&saved), charges(&last))
	}
}

// tryRestores makes a dry run with the backup, which leaves no files, and restores of damaged backups, which are
// refused.
func tryRestores(t *testing.T, dir, file string, saved *fsck.Report) {
	t.Helper()
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := gavel(nil, "restore", "--dry-run", "--data-dir", filepath.Join(dir, "new"), "--in", file)
	if r.code != exitSuccess || !strings.Contains(r.out, "checked and deleted") || !strings.Contains(r.out, saved.Groups[1].Digest) {
		t.Errorf("dry run: code %d: %s%s", r.code, r.out, r.err)
	}
	if strings.Contains(r.out, "start the node") || strings.Contains(r.out, "WARNING") {
		t.Errorf("a dry run says what to do after a restore: %s", r.out)
	}
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(dir, "damaged")
	for at := 0; at < len(good); at += 1 + len(good)/20 {
		changed := bytes.Clone(good)
		changed[at] ^= 1
		if err := os.WriteFile(bad, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if r := gavel(nil, "restore", "--data-dir", filepath.Join(dir, "new"), "--in", bad); r.code != exitFailed {
			t.Errorf("byte %d changed: code %d: %s%s", at, r.code, r.out, r.err)
		}
	}
	if err := os.Remove(bad); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
		t.Errorf("left behind: %v, %v", after, err)
	}
}

func TestRestoreRefuses(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad")
	if err := os.WriteFile(bad, []byte("GVBK\x01nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"restore", "--data-dir", dir + "/x"}, exitUsage, "--in"},
		{[]string{"restore", "--data-dir", dir + "/x", "--in", dir + "/none"}, exitUsage, "none"},
		{[]string{"restore", "--data-dir", dir + "/x", "--in", bad}, exitFailed, "backup"},
		{[]string{"restore", "--data-dir", dir + "/x", "--in", bad, "--dry-run"}, exitFailed, "backup"},
		{[]string{"backup", "--out", dir + "/b"}, exitUsage, "GAVEL_MANAGE_KEY"},
		{[]string{"backup", "--out", dir + "/b", "--manage=127.0.0.1:1", "--key=k"}, exitFailed, "refused"},
		{[]string{"recover", "--data-dir", dir + "/x"}, exitUsage, "--i-accept-loss"},
		{[]string{"recover", "--data-dir", dir + "/x", "--i-accept-loss"}, exitFailed, ""},
	} {
		if r := gavel(nil, c.args...); r.code != c.code || !strings.Contains(r.err, c.want) {
			t.Errorf("%q: code %d, want %d and %q in %s", c.args, r.code, c.code, c.want, r.err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
