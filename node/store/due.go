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

// DueKind says what shall happen when an entry of the diary is due.
type DueKind string

// The kinds. They stand in stored records.
const (
	DueUpload   DueKind = "upload"   // An asset's file should have come by now.
	DueJob      DueKind = "job"      // A job has something to do, or is old enough to be forgotten.
	DueMail     DueKind = "mail"     // The letter of an invitation shall be sent.
	DueDelivery DueKind = "delivery" // A notification shall be sent, or is old enough to be forgotten.
)

// Due is an entry in a marketplace's diary: something that the leader looks at when its time has come. An entry is a
// reminder and no order: whoever follows it looks at the thing it names, does what is then right, and removes the entry in
// the command that does it. So an entry that is followed twice, or too late, does no harm.
type Due struct {
	Millis int64
	Kind   DueKind
	ID     ids.UUID
}

// key orders the entries of a kind by time.
func (d Due) key() string { return fmt.Sprintf("%s%016x%s", prefixOf(d.Kind), d.Millis, d.ID) }

func prefixOf(kind DueKind) string { return string(kind) + ":" }

func readDue(kind DueKind, key string) Due {
	const timeLen = 16
	rest := strings.TrimPrefix(key, prefixOf(kind))
	millis, err := strconv.ParseInt(rest[:timeLen], 16, 64)
	if err != nil {
		panic("store: an entry of the diary has no time: " + err.Error())
	}
	id, err := ids.Parse(rest[timeLen:])
	if err != nil {
		panic("store: an entry of the diary names nothing: " + err.Error())
	}
	return Due{millis, kind, id}
}

// dueRecord enters something into the diary; entering it again changes nothing.
func (t Tenant) dueRecord(d Due) command.Record {
	return command.Record{Kind: command.RecordDue, Marketplace: t.marketplace, ID: d.key(), Value: []byte{}, Expect: command.Any}
}

// doneRecord takes an entry out.
func (t Tenant) doneRecord(d Due) command.Record {
	return command.Record{Kind: command.RecordDue, Marketplace: t.marketplace, ID: d.key(), Expect: command.Any}
}

// Due lists at most limit entries of a kind whose time has come, the oldest first.
func (t Tenant) Due(_ context.Context, kind DueKind, limit int) ([]Due, error) {
	now := t.now()
	return read(t, t.store.Groups.Meta(), func(b shard.Books) (all []Due) {
		records, _ := b.Records(command.RecordDue, t.marketplace, prefixOf(kind), limit)
		for _, r := range records {
			if !strings.HasPrefix(r.ID, prefixOf(kind)) {
				return all
			}
			d := readDue(kind, r.ID)
			if d.Millis > now {
				return all
			}
			all = append(all, d)
		}
		return all
	})
}

// DropDue takes an entry out of the diary that leads to nothing.
func (t Tenant) DropDue(ctx context.Context, d Due) error {
	return t.putRecords(ctx, []command.Record{t.doneRecord(d)})
}
