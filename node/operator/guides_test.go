package operator

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every file of the directory is a guide that is listed. It has a title, a sentence without links for the list, the length of
// something that is read in one go, and its links lead to files that exist.
func TestGuidesAreWellFormed(t *testing.T) {
	files, err := filepath.Glob("guides/*.md")
	if err != nil || len(files) != len(guideNames) {
		t.Errorf("%d files, %d guides, %v", len(files), len(guideNames), err)
	}
	target := regexp.MustCompile(`\]\(([^()\s#]+)(?:#[a-z-]+)?\)|(?m)^\[[a-z]+\]: (\S+)$`)
	for _, g := range Guides() {
		parts := strings.SplitN(g.Text, "\n\n", 3)
		if len(parts) < 3 || !strings.HasPrefix(parts[0], "# ") || strings.ContainsAny(parts[1], "[]*") || !strings.HasSuffix(parts[1], ".") {
			t.Errorf("%s has no title and sentence at its beginning", g.Name)
		}
		if n := strings.Count(g.Text, "\n"); n < 60 || n > 150 {
			t.Errorf("%s has %d lines, want 60 to 150", g.Name, n)
		}
		if strings.Count(g.Text, "\n```")%2 != 0 {
			t.Errorf("%s has a block without its end", g.Name)
		}
		for _, found := range target.FindAllStringSubmatch(g.Text, -1) {
			path := found[1] + found[2]
			if strings.HasPrefix(path, "/docs") || strings.HasPrefix(path, "https://") {
				continue
			}
			if _, err := os.Stat(filepath.Join("guides", path)); err != nil {
				t.Errorf("%s links to %s: %v", g.Name, path, err)
			}
		}
	}
}
