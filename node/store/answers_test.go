package store_test

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// TestAnswersAreBounded: of more answers than a marketplace may have, the newest stay. An id keeps its first answer for a day.
func TestAnswersAreBounded(t *testing.T) {
	w := managetest.New(t)
	tenant := w.Store.Tenant(managetest.Main)
	id := func(n int) (id ids.UUID) {
		binary.BigEndian.PutUint32(id[:], uint32(n))
		return id
	}
	put := func(n int, want string) {
		t.Helper()
		if got, err := tenant.PutAnswer(t.Context(), id(n), []byte("answer")); err != nil || string(got) != want {
			t.Fatalf("%d: %q, %v", n, got, err)
		}
	}
	for n := range store.AnswersMax + 1 {
		put(n, "answer")
		w.Advance(time.Millisecond)
	}
	stored := 0
	err := w.Store.Groups.Read(w.Store.Groups.Meta(), func(r shard.Reader) error {
		all, _ := shard.Queries{R: r}.Records(command.RecordAnswer, managetest.Main, "", 2*store.AnswersMax)
		stored = len(all)
		return nil
	})
	if err != nil || stored > store.AnswersMax || stored < store.AnswersMax-200 {
		t.Errorf("%d answers are stored, %v", stored, err)
	}
	if _, err := tenant.Answer(t.Context(), id(0)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the oldest: %v", err)
	}
	newest := store.AnswersMax
	if got, err := tenant.PutAnswer(t.Context(), id(newest), []byte("another")); err != nil || string(got) != "answer" {
		t.Errorf("a second answer of an id: %q, %v", got, err)
	}
	w.Advance(store.AnswerRetention)
	if got, err := tenant.PutAnswer(t.Context(), id(newest), []byte("another")); err != nil || string(got) != "another" {
		t.Errorf("a second answer of an id after a day: %q, %v", got, err)
	}
}
