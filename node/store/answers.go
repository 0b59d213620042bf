package store

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Bounds of the stored answers to requests with an Idempotency-Key, of one marketplace.
const (
	AnswerRetention = 24 * time.Hour // BOUND: how long an answer is stored. It is the interface's.
	AnswersMax      = 10_000         // BOUND: answers; beyond it the oldest are removed.
	answersDropped  = 100            // Answers that are removed at once when there are too many.
)

// Answer returns the answer that is stored under an id, or ErrNotFound, also for one that is older than AnswerRetention.
// The caller chooses its content; this package does not read it.
func (t Tenant) Answer(_ context.Context, id ids.UUID) ([]byte, error) {
	content, _, err := t.storedAnswer(id)
	return content, err
}

// PutAnswer stores an answer under an id. When there is one already, it is returned instead and stays.
//
// It is part of no request: it is neither in the audit log nor what a client waits for on other nodes.
func (t Tenant) PutAnswer(ctx context.Context, id ids.UUID, content []byte) (stored []byte, err error) {
	t.session = nil
	now := t.now()
	due := ScheduledTask{now + AnswerRetention.Milliseconds(), TaskAnswer, id}
	answer := command.Record{
		Kind: command.RecordAnswer, Marketplace: t.marketplace, ID: id.String(), Max: AnswersMax,
		Value: append(binary.BigEndian.AppendUint64(nil, uint64(now)), content...), // Read back the same way.
	}
	for range maxAttempts {
		records := []command.Record{answer, t.scheduleRecord(due)}
		known, version, err := t.storedAnswer(id)
		if err == nil {
			return known, nil
		}
		records[0].Expect = version // Of an old answer, or 0.
		r, err := t.putRecordsOnce(ctx, records)
		switch r.Refusal {
		case command.AlreadyExists, command.Conflict, command.NotFound: // Somebody else was faster.
		case command.TooMany:
			if err := t.dropOldestAnswers(ctx); err != nil {
				return nil, err
			}
		default:
			return content, err
		}
	}
	return nil, ErrChanged
}

// storedAnswer returns an answer and the version of its record. An old answer is ErrNotFound with its version.
func (t Tenant) storedAnswer(id ids.UUID) (content []byte, version uint64, err error) {
	r, err := readOne(t, t.store.Groups.Meta(), func(b shard.Queries) (shard.StoredRecord, bool) {
		return b.Record(command.RecordAnswer, t.marketplace, id.String())
	})
	if err != nil {
		return nil, 0, err
	}
	stored := int64(binary.BigEndian.Uint64(r.Value)) // Written from an int64.
	if t.now()-stored >= AnswerRetention.Milliseconds() {
		return nil, r.Version, ErrNotFound
	}
	return r.Value[8:], r.Version, nil
}

// dropOldestAnswers makes room for new answers.
func (t Tenant) dropOldestAnswers(ctx context.Context) error {
	oldest, err := t.tasksUntil(TaskAnswer, math.MaxInt64, answersDropped)
	if err != nil {
		return err
	}
	var records []command.Record
	for _, d := range oldest {
		records = append(records, t.answerDeletion(d.ID), t.unscheduleRecord(d))
	}
	if len(records) == 0 {
		return ErrTooMany
	}
	_, err = t.putRecordsOnce(ctx, records)
	return err
}

// ForgetAnswer removes an answer whose time has passed. ErrWrongState when the id has a newer one.
func (t Tenant) ForgetAnswer(ctx context.Context, d ScheduledTask) error {
	_, version, err := t.storedAnswer(d.ID)
	switch {
	case err == nil:
		return ErrWrongState
	case version == 0:
		return err
	}
	deletion := t.answerDeletion(d.ID)
	deletion.Expect = version
	err = t.putRecords(ctx, []command.Record{deletion, t.unscheduleRecord(d)})
	if errors.Is(err, ErrNotFound) {
		return ErrChanged
	}
	return err
}

func (t Tenant) answerDeletion(id ids.UUID) command.Record {
	return command.Record{Kind: command.RecordAnswer, Marketplace: t.marketplace, ID: id.String(), Expect: command.Any}
}
