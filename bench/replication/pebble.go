package replication

import (
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore/fatal"
	"github.com/gavel-ads/gavel/raftstore/pebblelog"
)

// pebbleStore is raftstore's log with its tail guard and nothing else of raftstore: raft gets each entry as the caller made
// it.
type pebbleStore struct {
	*pebblelog.Log
	db       *pebblelog.DB
	cache    *pebble.Cache
	watchdog *fatal.Watchdog
}

const (
	cacheBytes = 64 << 20
	tailBytes  = 64 << 20
	callLimit  = time.Minute
)

func openPebble(dir string) (pebbleStore, error) {
	quiet := slog.New(slog.DiscardHandler)
	exit := fatal.NewExit(quiet, func(code int) { panic(code) })
	s := pebbleStore{cache: pebble.NewCache(cacheBytes), watchdog: fatal.NewWatchdog(exit, callLimit)}
	var err error
	s.db, err = pebblelog.Open(pebblelog.Options{
		FS: vfs.Default, Dir: dir, GuardPath: filepath.Join(dir, "guard"), ClusterID: 1, Groups: []uint16{1}, Cache: s.cache, TailBytes: tailBytes,
		Logger: fatal.NewLogger(exit, quiet, "log"), Exit: exit, Watchdog: s.watchdog, CallLimit: callLimit,
	})
	if err != nil {
		return s, errors.Join(err, s.Close())
	}
	s.Log = s.db.Group(1)
	return s, s.Log.Check(0)
}

// Close closes the log, if it was opened, the cache and the watchdog.
func (s pebbleStore) Close() error {
	var err error
	if s.db != nil {
		err = s.db.Close()
	}
	s.cache.Unref()
	s.watchdog.Close()
	return err
}
