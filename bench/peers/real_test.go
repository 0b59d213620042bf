package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/internal/sources"
)

// TestRealPeers makes a short run with every peer that this machine has: each must have charged what it acknowledged, once. Figures of so
// short a run say nothing.
func TestRealPeers(t *testing.T) {
	if testing.Short() {
		t.Skip("starts databases and clusters of nodes")
	}
	binary := filepath.Join(t.TempDir(), "gavel")
	sources.Program(t, "github.com/gavel-ads/gavel/node", binary)
	var out, progress strings.Builder
	// The directory is the system's, not the test's: PostgreSQL runs as another user, who may not enter that one.
	code := command(t.Context(), []string{
		"-gavel", binary, "-rounds", "1", "-closed", "100ms", "-open", "100ms", "-connections", "4", "-rate", "200",
	}, &out, &progress)
	t.Logf("%s\n%s", progress.String(), out.String())
	if code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(out.String(), "equal") {
		t.Error("no peer's own count was compared")
	}
}
