//go:build unix

package main_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/nodetest"
)

// withoutUmask returns a program that runs gavel with umask 0.
func withoutUmask(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "unmasked")
	script := fmt.Sprintf("#!/bin/sh\numask 000\nexec %q \"$@\"\n", nodetest.Binary(t))
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil { // It has to be run.
		t.Fatal(err)
	}
	return path
}

// checkModes fails for everything below a directory that another user can access.
func checkModes(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		switch {
		case e.IsDir():
			want = 0o700
		case e.Type()&fs.ModeSocket != 0:
			want = 0o700 // A socket is made with it, for its user alone, and has 0600 a moment later.
		default:
			files++
		}
		if info.Mode().Perm()&^want != 0 {
			t.Errorf("%s has mode %v, want nothing beyond %v", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Errorf("%d files, %v", files, err)
	}
}

// TestFilesOfANodeArePrivate: whatever umask the process inherits, only its user can access the log, the state,
// snapshots, uploads, keys and backups; wider modes are restricted at the next start, which logs it.
func TestFilesOfANodeArePrivate(t *testing.T) {
	gavel, side := withoutUmask(t), t.TempDir()
	blobs := filepath.Join(side, "blobs")
	n := nodetest.Start(t, nodetest.Options{Binary: gavel, Args: []string{
		"--raft-snapshot-interval", "1s", "--raft-snapshot-threshold", "8", "--raft-trailing-logs", "16", "--blob-dir", blobs,
		"--ratelimit-catalog", "0",
	}})
	for i := range 40 { // Enough commands for snapshots.
		putVendor(t, n, i)
	}
	snapshots := filepath.Join(n.Dir(), "snapshots")
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if found, _ := filepath.Glob(filepath.Join(snapshots, "*", "*", "*")); len(found) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no snapshot within 30 s")
		}
	}
	backup := filepath.Join(side, "gavel.backup")
	if err := os.WriteFile(backup+".partial", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(backup+".partial", 0o666); err != nil { // As another program could have left it.
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), gavel, "backup", "--manage", n.ManageURL, "--out", backup)
	command.Env = append(os.Environ(), "GAVEL_MANAGE_KEY="+n.Keys.ManagementKey)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if info, err := os.Stat(backup); err != nil || info.Mode() != 0o600 {
		t.Errorf("the backup has mode %v, %v", info.Mode(), err)
	}
	checkModes(t, n.Dir())

	if err := n.Terminate(); err != nil {
		t.Fatal(err)
	}
	checkModes(t, n.Dir())
	for _, dir := range []string{n.Dir(), blobs} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Chmod(path, 0o777) // On purpose.
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	if err := n.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkModes(t, n.Dir())
	if log := n.LogTail(); strings.Count(log, "file_modes_restricted") != 2 {
		t.Errorf("the log does not say that the modes of two directories were restricted:\n%s", log)
	}
}

func putVendor(t *testing.T, n *nodetest.Node, i int) {
	t.Helper()
	body := fmt.Sprintf(`{"vendors":[{"id":"v%d","name":"V"}]}`, i)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, n.ManageURL+"/public/v1/catalog-search-service/catalogs/vendors", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+n.Keys.ManagementKey)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("status %d", answer.StatusCode)
	}
}
