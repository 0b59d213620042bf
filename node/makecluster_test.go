package main_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/nodetest"
)

// make cluster ends when a port of its nodes is taken, and says what to do.
func TestMakeClusterNamesAPortInUse(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts three nodes with the demo's market, and needs make")
	}
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip(err)
	}
	if taken, err := net.Listen("tcp", "127.0.0.1:8092"); err == nil { // Or somebody else has it, which is as good.
		defer taken.Close()
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() // The target writes its data below the working directory.
	for link, to := range map[string]string{"configs": filepath.Join(root, "configs"), "bin/gavel": nodetest.Binary(t)} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "make", "-f", filepath.Join(root, "Makefile"), "-o", "build", "cluster")
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // The target stops its nodes.
	out, err := cmd.CombinedOutput()
	if err == nil || ctx.Err() != nil {
		t.Fatalf("make cluster ended with %v, %v:\n%s", err, ctx.Err(), out)
	}
	text := string(out)
	for _, want := range []string{"another process listens there", "choose another address with --"} {
		if !strings.Contains(text, want) {
			t.Errorf("the output does not say %q:\n%s", want, text)
		}
	}
}
