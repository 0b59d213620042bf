//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// corruptedBytes is how many bytes of a file are corrupted at once.
const corruptedBytes = 8

// corrupt kills a node, flips bits in one of its files and starts it. The node may refuse to start, end itself when it reads the file, or go
// on when nothing depends on the file. It must not panic, and must not answer wrongly, which all other checks are about. Then its disk is
// replaced, because damage that nobody has read yet would be a second loss beside the next fault. The fault ends when all nodes are
// voters again.
func (f *activeFault) corrupt() error {
	node := f.randomNodes(1)[0]
	n := f.w.Nodes[node]
	f.supervisor.acquire(node, "corrupt file")
	name, err := f.corruptFile(node)
	if err == nil {
		err = n.Start()
	}
	outcome := "went on"
	if err == nil {
		outcome = f.observeStart(node)
	}
	f.target += fmt.Sprintf(" %s, %s", name, outcome)
	err = errors.Join(err, n.Kill(), n.Disk.Wipe())
	err = errors.Join(err, f.supervisor.release(node), f.awaitRecovery(context.WithoutCancel(f.ctx), "corruption"))
	return errors.Join(err, f.awaitAllVoters(f.ctx))
}

// corruptFile kills the node and flips bits in one of its files. Each kind of file is chosen as often as any other. It returns the path
// of the file below the data directory.
func (f *activeFault) corruptFile(node int) (name string, err error) {
	n := f.w.Nodes[node]
	if err := n.Kill(); err != nil {
		return "", err
	}
	files, err := filesByKind(n.Disk.Data())
	if err != nil || len(files) == 0 {
		return "", errors.Join(errors.New("the data directory has no file to corrupt"), err)
	}
	names := slices.Sorted(maps.Keys(files))
	of := files[names[f.r.IntN(len(names))]]
	path := of[f.r.IntN(len(of))]
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	for range corruptedBytes {
		text[f.r.IntN(len(text))] ^= 1 << f.r.IntN(8)
	}
	name, err = filepath.Rel(n.Disk.Data(), path)
	return name, errors.Join(err, os.WriteFile(path, text, 0o600))
}

// filesByKind lists the files of a data directory that are not empty. Files are of the same kind when their paths differ in digits only.
func filesByKind(data string) (map[string][]string, error) {
	kinds := map[string][]string{}
	err := filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "ballast" {
			return err
		}
		if info, err := d.Info(); err != nil || info.Size() == 0 {
			return err
		}
		rel, err := filepath.Rel(data, path)
		kind := strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, rel)
		kinds[kind] = append(kinds[kind], path)
		return err
	})
	return kinds, err
}

// observeStart waits until the node has ended, or has been ready for some seconds, and says which.
func (f *activeFault) observeStart(node int) string {
	n := f.w.Nodes[node]
	exited := n.Exited()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), recoverMax)
	defer cancel()
	for !n.Ready(ctx) {
		select {
		case <-exited:
			return f.describeExit(node, "refused")
		case <-ctx.Done():
			f.h.Finding(fmt.Sprintf("%s has a corrupt file and was neither ready nor ended within %v", n.ID, recoverMax))
			return "hung"
		case <-time.After(pollInterval):
		}
	}
	select {
	case <-exited:
		return f.describeExit(node, "ended")
	case <-time.After(f.randomDuration(3, 10)):
		return "went on"
	}
}

// describeExit says how the node ended. A panic or a signal is a finding: a node has to report a corrupt file as an error.
func (f *activeFault) describeExit(node int, how string) string {
	end := readEnding(f.w.Nodes[node].End(), f.w.Nodes[node].Log)
	if end.code < 1 || end.panicked() {
		f.h.Finding(fmt.Sprintf("%s has a corrupt file and ended: %v", f.w.Nodes[node].ID, end))
	}
	return fmt.Sprintf("%s with %d", how, end.code)
}
