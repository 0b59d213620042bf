// Package checkpoint takes checkpoints of a database that is being written to, and calls methods of the same name.
package checkpoint

import "github.com/cockroachdb/pebble/v2"

type embedding struct{ *pebble.DB }

type ours struct{}

func (ours) Checkpoint(string) error { return nil }

func copyAll(db *pebble.DB, to string) error {
	if err := db.Checkpoint(to); err != nil { // want: checkpoint
		return err
	}
	if err := db.Checkpoint(to, pebble.WithFlushedWAL()); err != nil { // want: checkpoint
		return err
	}
	later := db.Checkpoint // want: checkpoint
	if err := later(to); err != nil {
		return err
	}
	if err := (embedding{db}).Checkpoint(to); err != nil { // want: checkpoint
		return err
	}
	return ours{}.Checkpoint(to) // Not Pebble's.
}
