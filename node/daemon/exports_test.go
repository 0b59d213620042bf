package daemon

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A node that exports opens its directory, and has the metrics; another one has none. Without the directory it does not start.
func TestExportsAreOpenedAtTheStart(t *testing.T) {
	for _, driver := range []string{"off", "local"} {
		dir := t.TempDir()
		cfg := testConfig(dir, 1)
		cfg.Export.Driver, cfg.Export.Dir = driver, filepath.Join(dir, "exports")
		n := run(t, cfg, Options{})
		answer, err := http.Get(n.manage + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close() // It was read completely.
		if err != nil {
			t.Fatal(err)
		}
		_, missing := os.Stat(cfg.Export.Dir)
		if on := driver == "local"; strings.Contains(string(text), "gavel_export_lag_seconds") != on || (missing == nil) != on {
			t.Errorf("export.driver %s: the directory: %v, the metrics:\n%s", driver, missing, text)
		}
		n.stop()
	}
	dir := t.TempDir()
	cfg := testConfig(dir, 1)
	cfg.Export.Driver, cfg.Export.Dir = "local", filepath.Join(dir, "file", "exports")
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Run(context.Background(), cfg, Options{Out: io.Discard}); err == nil || !strings.Contains(err.Error(), "exports: ") {
		t.Errorf("a directory that cannot be created: %v", err)
	}
}
