package cli

import (
	"os"
	"strings"
	"testing"
)

func TestCheckNeedsANodesDirectory(t *testing.T) {
	empty := t.TempDir()
	for _, c := range []struct {
		environ, args []string
		want          string
	}{
		{nil, []string{"check"}, "--data-dir"},
		{nil, []string{"check", "--data-dir", empty}, "the directory cannot be read"},
		{[]string{"GAVEL_DATA_DIR=" + empty}, []string{"check"}, "the directory cannot be read"},
	} {
		if r := gavel(c.environ, c.args...); r.code != exitUsage || !strings.Contains(r.err, c.want) {
			t.Errorf("%q: code %d: %s", c.args, r.code, r.err)
		}
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
		t.Errorf("the check wrote into the directory: %v, %v", left, err)
	}
}

func TestCheckHelpListsExitCodes(t *testing.T) {
	r := gavel(nil, "check", "--help")
	if r.code != exitSuccess || !strings.Contains(r.out, "Exit code 0") {
		t.Errorf("code %d: %s", r.code, r.out)
	}
}
