package raftstore

import (
	"errors"
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore/durable"
)

// A directory in which RestoreBackup or RecoverQuorum works has this file. It is written durably before anything else
// and deleted durably after everything else. Its content names the work.
const (
	unfinishedName = "unfinished"
	unfinishedTmp  = "unfinished.tmp"

	workRestore = "restore"
	workRecover = "recover"
)

// beginWork marks the directory.
func beginWork(c *Config, work string) error {
	return durable.WriteFile(c.FS, c.Dir, unfinishedTmp, unfinishedName, []byte(work+"\n"))
}

// endWork takes the mark away.
func endWork(c *Config) error {
	return errors.Join(c.FS.Remove(c.FS.PathJoin(c.Dir, unfinishedName)), durable.SyncDir(c.FS, c.Dir))
}

// unfinishedWork returns the name of the work that a directory was left in, "" for none.
func unfinishedWork(fs vfs.FS, dir string) (string, error) {
	path := fs.PathJoin(dir, unfinishedName)
	if _, err := fs.Stat(path); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return "", nil
		}
		return "", err
	}
	b, err := durable.ReadFile(fs, path)
	if err != nil {
		return "", err
	}
	for _, work := range []string{workRestore, workRecover} {
		if string(b) == work+"\n" {
			return work, nil
		}
	}
	return "", fmt.Errorf("%w: %s cannot be read", ErrDamaged, path)
}

// checkFinished returns ErrUnfinished for a directory that was left in the middle of some work.
func checkFinished(fs vfs.FS, dir string) error {
	work, err := unfinishedWork(fs, dir)
	if err == nil && work != "" {
		return fmt.Errorf("%w: %s; run it again", ErrUnfinished, work)
	}
	return err
}
