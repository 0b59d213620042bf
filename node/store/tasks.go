package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// TaskKind says what has to happen when a scheduled task is due.
type TaskKind string

// The kinds of tasks. Stored records contain these texts.
const (
	TaskUpload   TaskKind = "upload"   // The time to upload an asset's file ends.
	TaskJob      TaskKind = "job"      // A job has its next step, or is old enough to be deleted.
	TaskMail     TaskKind = "mail"     // The email of an invitation has to be sent.
	TaskDelivery TaskKind = "delivery" // A notification has to be sent, or is old enough to be deleted.
	TaskAnswer   TaskKind = "answer"   // A stored answer is old enough to be deleted.
	TaskModels   TaskKind = "models"   // A job of the type JobModels has to be done, or is old enough to be deleted.
)

// ScheduledTask is an entry in a marketplace's task list: something that the leader looks at when its time has come. A task only
// says where to look. Its worker reads the object that the task names, does what is right by then, and removes the task in the
// command that does it. So a task that is worked on twice, or too late, does no harm.
type ScheduledTask struct {
	Millis int64
	Kind   TaskKind
	ID     ids.UUID
}

// key is the id of the task's record. It orders the tasks of a kind by time.
func (d ScheduledTask) key() string {
	return fmt.Sprintf("%s%016x%s", prefixOf(d.Kind), d.Millis, d.ID)
}

func prefixOf(kind TaskKind) string { return string(kind) + ":" }

func parseTask(kind TaskKind, key string) ScheduledTask {
	const timeLen = 16
	rest := strings.TrimPrefix(key, prefixOf(kind))
	millis, err := strconv.ParseInt(rest[:timeLen], 16, 64)
	if err != nil {
		panic("store: the record of a scheduled task has no time: " + err.Error())
	}
	id, err := ids.Parse(rest[timeLen:])
	if err != nil {
		panic("store: the record of a scheduled task has no id: " + err.Error())
	}
	return ScheduledTask{millis, kind, id}
}

// scheduleRecord adds a task. Adding it again changes nothing.
func (t Tenant) scheduleRecord(d ScheduledTask) command.Record {
	return command.Record{Kind: command.RecordScheduledTask, Marketplace: t.marketplace, ID: d.key(), Value: []byte{}, Expect: command.Any}
}

// unscheduleRecord removes a task, if it is still there.
func (t Tenant) unscheduleRecord(d ScheduledTask) command.Record {
	return command.Record{Kind: command.RecordScheduledTask, Marketplace: t.marketplace, ID: d.key(), Expect: command.Any}
}

// DueTasks lists at most limit tasks of a kind whose time has come, the oldest first.
func (t Tenant) DueTasks(_ context.Context, kind TaskKind, limit int) ([]ScheduledTask, error) {
	return t.tasksUntil(kind, t.now(), limit)
}

// tasksUntil lists at most limit tasks of a kind whose time is not after millis, the oldest first.
func (t Tenant) tasksUntil(kind TaskKind, millis int64, limit int) ([]ScheduledTask, error) {
	return read(t, t.store.Groups.Meta(), func(b shard.Queries) (all []ScheduledTask) {
		records, _ := b.Records(command.RecordScheduledTask, t.marketplace, prefixOf(kind), limit)
		for _, r := range records {
			if !strings.HasPrefix(r.ID, prefixOf(kind)) {
				return all
			}
			d := parseTask(kind, r.ID)
			if d.Millis > millis {
				return all
			}
			all = append(all, d)
		}
		return all
	})
}

// DropTask removes a task whose object does not exist any more.
func (t Tenant) DropTask(ctx context.Context, d ScheduledTask) error {
	return t.putRecords(ctx, []command.Record{t.unscheduleRecord(d)})
}
