package store

import (
	"context"
	"slices"
	"strconv"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Audience is a list of people, by hashes, that ad networks receive.
type Audience struct {
	ID            ids.UUID
	VendorID      string
	Name          string
	Description   string
	Networks      []string // The networks that it is for.
	Synced        []string // The networks that have received its present list.
	List          string   // The accepted rows are in the files List-0 to List-(Parts-1). Empty while there is no list.
	Parts         int
	Size          int64
	Job           ids.UUID // The latest job that reads a list for it.
	CreatedMillis int64
	UpdatedMillis int64
}

// ListPosition is the audience's position in lists.
func (x *Audience) ListPosition() string { return positionOf(x.CreatedMillis, x.ID) }

var audiences = collection[Audience]{itemKind: command.RecordAudience, indexKind: command.RecordAudienceIndex, key: func(x *Audience) itemKey {
	return itemKey{x.ID, x.CreatedMillis, "id " + x.ID.String()}
}}

// ListPart is the file name of the nth part of a list of accepted rows.
func ListPart(list string, n int) string { return list + "-" + strconv.Itoa(n) }

// CreateAudience stores a new audience and the job that waits for its list. It fills in ids and times of both.
func (t Tenant) CreateAudience(ctx context.Context, x *Audience, job *Job) error {
	x.ID, x.CreatedMillis = t.mint(ctx, 0), t.now()
	x.UpdatedMillis = x.CreatedMillis
	job.Audience, job.VendorID, job.Networks = x.ID, x.VendorID, x.Networks
	records := t.newJob(ctx, job, t.now()+ListWait.Milliseconds())
	x.Job = job.ID
	stored, err := audiences.add(ctx, t, []Audience{*x}, records...)
	if err != nil {
		return err
	}
	*x = stored[0]
	*job, err = t.Job(ctx, x.Job)
	return err
}

// Audience returns an audience, or ErrNotFound.
func (t Tenant) Audience(_ context.Context, id ids.UUID) (Audience, error) {
	at, err := audiences.find(t, keyOfID(id))
	return at.item, err
}

// Audiences lists the audiences for which keep returns true, newest first.
func (t Tenant) Audiences(_ context.Context, p Page, keep func(*Audience) bool) ([]Audience, bool, error) {
	return audiences.list(t, p, keep)
}

// ReplaceAudience changes an audience by fn and stores the job that waits for its next list. ErrWrongState while another job of
// the audience runs.
func (t Tenant) ReplaceAudience(ctx context.Context, id ids.UUID, job *Job, fn func(*Audience)) (Audience, error) {
	return audiences.update(ctx, t, keyOfID(id), func(x *Audience) ([]command.Record, error) {
		running, err := t.Job(ctx, x.Job)
		if err == nil && !running.Final() {
			return nil, ErrWrongState
		}
		fn(x)
		job.Audience, job.VendorID, job.Networks = x.ID, x.VendorID, x.Networks
		records := t.newJob(ctx, job, t.now()+ListWait.Milliseconds())
		x.Job, x.UpdatedMillis = job.ID, t.now()
		return records, nil
	})
}

// BeginList spends the nonce of an upload address. ErrWrongState when it was used before or its job is over.
func (t Tenant) BeginList(ctx context.Context, id ids.UUID, nonce string) (Job, error) {
	return t.ChangeJob(ctx, id, func(x *Job) error {
		if x.Status != JobNotStarted || x.List == nil || x.List.Nonce == "" || x.List.Nonce != nonce {
			return ErrWrongState
		}
		x.List.Nonce = ""
		return nil
	})
}

// StartList lets a job begin whose uploaded list is stored.
func (t Tenant) StartList(ctx context.Context, id ids.UUID) (Job, error) {
	return t.ChangeJob(ctx, id, func(x *Job) error {
		x.DueMillis = t.now()
		return x.To(JobInProgress)
	})
}

// ReplaceList is the last step of reading a list: the audience gets it instead of the one it had. It returns the audience as it
// was before, so that the caller can remove the old files. One command changes the job and the audience.
func (t Tenant) ReplaceList(ctx context.Context, at VersionedJob, step func(*Job)) (old Audience, err error) {
	audience, err := audiences.find(t, keyOfID(at.Audience))
	if err != nil {
		return old, err
	}
	old = audience.item
	x := audience.item
	x.List, x.Parts, x.Size, x.Synced = at.List.Name, at.List.Parts, at.List.Good, nil
	x.UpdatedMillis = t.now()
	return old, t.StepJob(ctx, at, step, audiences.record(t, &x, audience.version))
}

// SyncAudience records that a network received the list of a job.
func (t Tenant) SyncAudience(ctx context.Context, id, job ids.UUID, network string) error {
	_, err := audiences.change(ctx, t, keyOfID(id), func(x *Audience) {
		if x.Job == job && !slices.Contains(x.Synced, network) {
			x.Synced = append(x.Synced, network)
		}
	})
	return err
}

// UsesList reports whether an audience refers to a file, or a job is making it.
func (t Tenant) UsesList(_ context.Context, object string) (bool, error) {
	list := beforeLastDash(object)
	return read(t, t.store.Groups.Meta(), func(b shard.Queries) bool {
		for after, more := "", true; more; {
			var records []shard.StoredRecord
			records, more = b.Records(command.RecordAudience, t.marketplace, after, scanStep)
			for i := range records {
				after = records[i].ID
				x := decoded[Audience](records[i].Value)
				if x.List == list {
					return true
				}
				r, found := b.Record(command.RecordJob, t.marketplace, x.Job.String())
				if !found {
					continue
				}
				if job := decoded[Job](r.Value); !job.Final() && job.List != nil && (job.List.Name == list || job.List.Object == object) {
					return true
				}
			}
		}
		return false
	})
}
