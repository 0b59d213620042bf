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

// rotPlaces are how many bytes of a file rot at once.
const rotPlaces = 8

// rot kills a node, lets bytes of one of its files rot and starts it. It may refuse to start, end itself when it reads them, or
// go on when nothing depends on them; it must not lie, which all the other checks are about, or panic. Then its disk is replaced:
// what nobody has read yet would be a second loss beside the next fault. It ends when all nodes are voters again.
func (f *force) rot() error {
	node := f.some(1)[0]
	n := f.w.Nodes[node]
	f.keeper.hold(node, "rotten file")
	name, err := f.spoil(node)
	if err == nil {
		err = n.Start()
	}
	said := "went on"
	if err == nil {
		said = f.observe(node)
	}
	f.target += fmt.Sprintf(" %s, %s", name, said)
	err = errors.Join(err, n.Kill(), n.Disk.Wipe())
	err = errors.Join(err, f.keeper.letGo(node), f.recovered(context.WithoutCancel(f.ctx), "rot"))
	return errors.Join(err, f.allVote(f.ctx))
}

// spoil kills the node and flips bits in bytes of one of its files, each kind of file as often as any other.
func (f *force) spoil(node int) (name string, err error) {
	n := f.w.Nodes[node]
	if err := n.Kill(); err != nil {
		return "", err
	}
	files, err := filesByKind(n.Disk.Data())
	if err != nil || len(files) == 0 {
		return "", errors.Join(errors.New("no file to rot"), err)
	}
	names := slices.Sorted(maps.Keys(files))
	of := files[names[f.r.IntN(len(names))]]
	path := of[f.r.IntN(len(of))]
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	for range rotPlaces {
		text[f.r.IntN(len(text))] ^= 1 << f.r.IntN(8)
	}
	name, err = filepath.Rel(n.Disk.Data(), path)
	return name, errors.Join(err, os.WriteFile(path, text, 0o600))
}

// filesByKind lists the files of a data directory that hold something: by the directory in which they lie and what their names are
// made of beside numbers.
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

// observe waits until the node has ended, or is ready and was for a time, and says which.
func (f *force) observe(node int) string {
	n := f.w.Nodes[node]
	exited := n.Exited()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), recoverMax)
	defer cancel()
	for !n.Ready(ctx) {
		select {
		case <-exited:
			return f.refused(node, "refused")
		case <-ctx.Done():
			f.h.Finding(fmt.Sprintf("%s has a rotten file, and within %v it was neither ready nor gone", n.ID, recoverMax))
			return "hung"
		case <-time.After(lookEvery):
		}
	}
	select {
	case <-exited:
		return f.refused(node, "ended")
	case <-time.After(f.span(3, 10)):
		return "went on"
	}
}

// refused judges how the node ended: a panic is no way to tell that a file is rotten.
func (f *force) refused(node int, how string) string {
	end := readEnding(f.w.Nodes[node].End(), f.w.Nodes[node].Log)
	if end.code < 1 || end.panicked() {
		f.h.Finding(fmt.Sprintf("%s has a rotten file and ended: %v", f.w.Nodes[node].ID, end))
	}
	return fmt.Sprintf("%s with %d", how, end.code)
}
