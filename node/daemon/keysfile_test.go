//go:build unix

package daemon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestKeysGoToAFileOfOneUser: the first keys are written only to a file that no other user can have open. A file that
// exists under the temporary name is refused and left unchanged, unless an interrupted start of this user left it.
func TestKeysGoToAFileOfOneUser(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	keys := &FirstKeys{Auction: "a", Management: "m", Marketplace: "x"}
	write := func(path, text string, mode fs.FileMode) {
		must(os.WriteFile(path, []byte(text), 0o600))
		must(os.Chmod(path, mode))
	}
	for name, c := range map[string]struct {
		make    func(path, beside string)
		refused bool
	}{
		"nothing there":             {func(string, string) {}, false},
		"a file left by a start":    {func(path, _ string) { write(path, `{"auctionKey":"old"`, 0o600) }, false},
		"readable by the group":     {func(path, _ string) { write(path, "", 0o640) }, true},
		"readable by all":           {func(path, _ string) { write(path, "", 0o644) }, true},
		"writable by all":           {func(path, _ string) { write(path, "", 0o666) }, true},
		"set to the user's id":      {func(path, _ string) { write(path, "", 0o600|fs.ModeSetuid) }, true},
		"a link to a file":          {func(path, beside string) { write(beside, "", 0o600); must(os.Symlink(beside, path)) }, true},
		"a link to nothing":         {func(path, beside string) { must(os.Symlink(beside, path)) }, true},
		"a second name of a file":   {func(path, beside string) { write(beside, "", 0o600); must(os.Link(beside, path)) }, true},
		"a directory":               {func(path, _ string) { must(os.Mkdir(path, 0o700)) }, true},
		"a pipe that nobody writes": {func(path, _ string) { must(syscall.Mkfifo(path, 0o600)) }, true},
		"a file of another user": {func(path, _ string) {
			write(path, "", 0o600)
			if os.Geteuid() != 0 {
				must(os.Chmod(path, 0o644)) // Refused for this, where nobody can give a file away.
				return
			}
			must(os.Chown(path, 65534, 65534))
		}, true},
	} {
		dir := t.TempDir()
		path, beside := filepath.Join(dir, "keys.json.pending"), filepath.Join(dir, "beside")
		c.make(path, beside)
		before, _ := os.Lstat(path)
		err := writeKeys(path, keys)
		if !c.refused {
			info, stat := os.Lstat(path)
			if err != nil || stat != nil || info.Mode() != 0o600 {
				t.Errorf("%s: %v, %v", name, err, info)
			}
			if got, err := readKeys(path); err != nil || *got != *keys {
				t.Errorf("%s: read %+v, %v", name, got, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "remove it") {
			t.Errorf("%s: %v, want a refusal that names the file", name, err)
		}
		if _, err := readKeys(path); err == nil || errors.Is(err, errTorn) {
			t.Errorf("%s: its keys are read: %v", name, err)
		}
		if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
			t.Errorf("%s: it was replaced: %v", name, err)
		}
		if text, err := os.ReadFile(beside); err == nil && len(text) > 0 {
			t.Errorf("%s: keys were written to %s", name, beside)
		}
	}
}
