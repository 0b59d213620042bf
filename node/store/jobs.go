package store

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// JobStatus is how far a job got.
type JobStatus string

// The states, as the interface names them. Completed and failed are final.
const (
	JobNotStarted JobStatus = "not_started"
	JobInProgress JobStatus = "in_progress"
	JobRetrying   JobStatus = "retrying"
	JobCompleted  JobStatus = "completed"
	JobFailed     JobStatus = "failed"
)

// jobMoves are the allowed changes of state.
var jobMoves = map[JobStatus][]JobStatus{
	JobNotStarted: {JobInProgress, JobFailed},
	JobInProgress: {JobCompleted, JobFailed, JobRetrying},
	JobRetrying:   {JobInProgress, JobFailed},
}

// JobType is what a job does, as the interface names it.
type JobType string

// The types.
const (
	JobAdvertiser      JobType = "advertiser_creation"
	JobCampaign        JobType = "campaign_creation"
	JobCampaignUpdate  JobType = "campaign_update"
	JobAudience        JobType = "user_list_audience_creation"
	JobAudienceReplace JobType = "user_list_audience_replacement"
)

// Bounds of jobs, of the interface.
const (
	JobKept       = 30 * 24 * time.Hour // BOUND: after its end.
	JobRetriesMax = 5                   // BOUND: failures in a row of which each is tried again.
	ListWait      = time.Hour           // BOUND: for the file of an audience.
)

// Job is work that the leader does after the answer was sent. It is written down after every step, so that another leader
// goes on where the last one was.
//
// INVARIANT: every step is written with the version of the job that it began with. Of two workers that do the same step,
// because one does not know yet that it leads no more, one writes and the other finds the job changed and lets go. What a
// step does outside of the record, it may do twice: it writes files under names that depend on the job and the step, and
// what it sends carries the job's id.
type Job struct {
	ID       ids.UUID
	Type     JobType
	Status   JobStatus
	VendorID string
	Networks []string // Ad networks that the job is for.
	Result   string   // JSON, or empty.
	Reason   string   // Of the last failure.
	Failures int      // In a row.

	Audience ids.UUID // Of jobs with a list.
	Campaign ids.UUID // Of jobs of offsite campaigns.
	List     *List    // Nil for other jobs.

	Handed   []string          // Networks whose connector took the job.
	Reported map[string]string // What connectors reported, by network: completed or failed.

	DueMillis      int64 // When the leader looks at it next.
	CreatedMillis  int64
	UpdatedMillis  int64
	FinishedMillis int64
}

// List is how far the list of an audience was read.
type List struct {
	Object string // The file as it was sent.
	Nonce  string // Of the upload address; empty once it was used.
	Name   string // Parts of the clean list are called Name-0, Name-1 ….
	Offset int64  // Where the next step reads on; 0 before the first.
	Rows   int64  // Read so far, without the header.
	Good   int64
	Bad    int64
	Parts  int
}

// Final reports whether a job is over.
func (x *Job) Final() bool { return x.Status == JobCompleted || x.Status == JobFailed }

// To changes the state, or answers ErrWrongState.
func (x *Job) To(status JobStatus) error {
	if x.Status == status && !x.Final() {
		return nil
	}
	if !slices.Contains(jobMoves[x.Status], status) {
		return ErrWrongState
	}
	x.Status = status
	return nil
}

// Fail notes a failure: the job is tried again after a while that doubles, and fails for good after too many.
func (x *Job) Fail(reason string, now time.Time) {
	x.Reason = reason
	if x.Failures++; x.Failures > JobRetriesMax {
		x.End(JobFailed, `{"error":"`+reason+`"}`)
		return
	}
	x.Status = JobRetrying
	x.DueMillis = now.Add(retryWait << (x.Failures - 1)).UnixMilli()
}

const retryWait = 5 * time.Second

// End ends a job. It does nothing to one that is over.
func (x *Job) End(status JobStatus, result string) {
	if !x.Final() {
		x.Status, x.Result = status, result
	}
}

// JobAt is a job with the version that was read, which fences the step that is made of it.
type JobAt struct {
	Job
	version uint64
}

// newJob fills in what a new job has. due is when the leader looks at it first.
func (t Tenant) newJob(ctx context.Context, x *Job, due int64) []command.Record {
	x.ID, x.Status, x.CreatedMillis, x.UpdatedMillis = t.mint(ctx, 0), JobNotStarted, t.now(), t.now()
	x.DueMillis = due
	if x.List != nil {
		x.List.Nonce = rand.Text()
	}
	return []command.Record{t.jobRecord(x, 0), t.dueRecord(Due{due, DueJob, x.ID})}
}

// AddJob stores a new job that begins at once.
func (t Tenant) AddJob(ctx context.Context, x *Job) error {
	records := t.newJob(ctx, x, t.now())
	err := t.putRecords(ctx, records)
	if errors.Is(err, ErrAlreadyExists) { // A repeat under the same idempotency key.
		return nil
	}
	return err
}

func (t Tenant) jobRecord(x *Job, version uint64) command.Record {
	return command.Record{Kind: command.RecordJob, Marketplace: t.marketplace, ID: x.ID.String(), Value: encoded(x), Expect: version}
}

// JobAt returns a job to make a step of, or ErrNotFound.
func (t Tenant) JobAt(_ context.Context, id ids.UUID) (JobAt, error) {
	r, err := one(t, t.store.Groups.Meta(), func(b shard.Books) (shard.StoredRecord, bool) {
		return b.Record(command.RecordJob, t.marketplace, id.String())
	})
	if err != nil {
		return JobAt{}, err
	}
	return JobAt{decoded[Job](r.Value), r.Version}, nil
}

// Job returns a job, or ErrNotFound.
func (t Tenant) Job(ctx context.Context, id ids.UUID) (Job, error) {
	at, err := t.JobAt(ctx, id)
	return at.Job, err
}

// StepJob writes a step that was made of a job as it was read, with what else the step writes. ErrChanged when the job is
// not as it was read; then the step is for nothing, and the job goes on without it.
func (t Tenant) StepJob(ctx context.Context, at JobAt, step func(*Job), more ...command.Record) error {
	records := append(slices.Clone(more), t.stepRecords(&at, step)...)
	r, err := t.proposeRecords(ctx, records)
	if r.Refusal == command.Conflict || r.Refusal == command.NotFound {
		return ErrChanged
	}
	return err
}

// stepRecords are the records of a job after a step: the job, its place in the diary, and the notice of its end.
func (t Tenant) stepRecords(at *JobAt, step func(*Job)) []command.Record {
	before, after := at.Job, at.Job
	after.Reported = maps.Clone(before.Reported)
	after.Handed = slices.Clone(before.Handed)
	if before.List != nil {
		after.List = new(*before.List)
	}
	step(&after)
	after.UpdatedMillis = t.now()
	var more []command.Record
	if after.Final() && !before.Final() {
		after.FinishedMillis = t.now()
		after.DueMillis = after.FinishedMillis + JobKept.Milliseconds()
		more = t.notices(ChannelJob, jobNotice{after.ID.String(), after.Type, after.Status, after.VendorID})
	}
	if after.DueMillis != before.DueMillis {
		more = append(more, t.doneRecord(Due{before.DueMillis, DueJob, after.ID}), t.dueRecord(Due{after.DueMillis, DueJob, after.ID}))
	}
	return append(more, t.jobRecord(&after, at.version))
}

// jobNotice is the payload of job:finish.
type jobNotice struct {
	JobID       string    `json:"job_id"`
	RequestType JobType   `json:"request_type"`
	Status      JobStatus `json:"status"`
	VendorID    string    `json:"vendor_id"`
}

// ChangeJob rewrites a job, whoever else does. fn may run several times; it refuses by an error.
func (t Tenant) ChangeJob(ctx context.Context, id ids.UUID, fn func(*Job) error) (Job, error) {
	for range attempts {
		at, err := t.JobAt(ctx, id)
		if err != nil {
			return Job{}, err
		}
		var refused error
		err = t.StepJob(ctx, at, func(x *Job) { refused = fn(x) })
		if refused != nil {
			return Job{}, refused
		}
		if !errors.Is(err, ErrChanged) {
			if err != nil {
				return Job{}, err
			}
			return t.Job(ctx, id)
		}
	}
	return Job{}, ErrChanged
}

// ForgetJob deletes a job whose time is over.
func (t Tenant) ForgetJob(ctx context.Context, at JobAt) error {
	gone := command.Record{Kind: command.RecordJob, Marketplace: t.marketplace, ID: at.ID.String(), Expect: at.version}
	return t.putRecords(ctx, []command.Record{gone, t.doneRecord(Due{at.DueMillis, DueJob, at.ID})})
}
