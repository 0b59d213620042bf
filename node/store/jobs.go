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

// JobStatus is the state of a job.
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
	JobAudience        JobType = "user_list_audience_creation"
	JobAudienceReplace JobType = "user_list_audience_replacement"
	JobModels          JobType = "attribution_models" // An extension of the interface: see modeljobs.go.
)

// Bounds of jobs. They are the interface's.
const (
	JobRetention  = 30 * 24 * time.Hour // BOUND: how long an ended job is kept.
	JobRetriesMax = 5                   // BOUND: failures in a row after which a step is tried again.
	ListWait      = time.Hour           // BOUND: how long an audience's job waits for its list.
)

// Job is work that the leader does after the answer was sent. It is written after every step, so that another leader continues
// after the last one.
//
// INVARIANT: every step is written with the version of the job that it began with. When two workers do the same step, because one
// does not know yet that it is not the leader any more, one of them writes and the other gets ErrChanged and stops. Effects
// outside of the record may happen twice: files have names that depend on the job and the step, and requests carry the job's id.
type Job struct {
	ID       ids.UUID
	Type     JobType
	Status   JobStatus
	VendorID string
	Networks []string // Ad networks that the job is for.
	Result   string   // JSON, or empty.
	Reason   string   // The reason of the last failure.
	Failures int      // How many steps failed in a row.

	Audience ids.UUID // Zero unless the job reads or hands over an audience.
	Campaign ids.UUID // Zero unless the job is of an offsite campaign.
	List     *List    // Nil for other jobs.

	Models *ModelJob `json:",omitempty"` // Nil unless the type is JobModels.

	Handed   []string          // Networks whose connector accepted the job.
	Reported map[string]string // The status that connectors reported, by network: completed or failed.

	DueMillis      int64 // When the leader continues it. A task with this time is in the task list.
	CreatedMillis  int64
	UpdatedMillis  int64
	FinishedMillis int64
}

// List is the progress of reading an audience's list.
type List struct {
	Object string // The uploaded file; empty once it was read to the end.
	Nonce  string // The nonce of the upload address; empty once it was used.
	Name   string // The files of accepted rows are Name-0, Name-1 ….
	Offset int64  // Byte offset at which the next step continues; 0 before the first.
	Rows   int64  // Rows that were read, without the header. Good and Bad add up to it.
	Good   int64
	Bad    int64
	Parts  int
}

// taskKind is the kind of the job's task. A job has one task at any time.
func (x *Job) taskKind() TaskKind {
	if x.Type == JobModels {
		return TaskModels
	}
	return TaskJob
}

// Final reports whether a job is over.
func (x *Job) Final() bool { return x.Status == JobCompleted || x.Status == JobFailed }

// To changes the status, or returns ErrWrongState when that change is not allowed.
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

// Fail records a failure. The step is tried again after a wait that doubles with each failure; after more than JobRetriesMax failures
// in a row the job has failed.
func (x *Job) Fail(reason string, now time.Time) {
	x.Reason = reason
	if x.Failures++; x.Failures > JobRetriesMax {
		x.End(JobFailed, FailureResult(reason))
		return
	}
	x.Status = JobRetrying
	x.DueMillis = now.Add(retryWait << (x.Failures - 1)).UnixMilli()
}

const retryWait = 5 * time.Second

// FailureResult is the result of a job that has failed for a reason, as JSON text.
func FailureResult(reason string) string {
	return string(encoded(&struct {
		Error string `json:"error"`
	}{reason}))
}

// End gives a job its final status. A job that is over stays as it is.
func (x *Job) End(status JobStatus, result string) {
	if !x.Final() {
		x.Status, x.Result = status, result
	}
}

// VersionedJob is a job with the version that was read. The version makes a step fail when another worker was faster.
type VersionedJob struct {
	Job
	version uint64
}

// newJob fills in the members of a new job and returns the records that store it. due is when the leader looks at it first.
func (t Tenant) newJob(ctx context.Context, x *Job, due int64) []command.Record {
	x.ID, x.Status, x.CreatedMillis, x.UpdatedMillis = t.mint(ctx, 0), JobNotStarted, t.now(), t.now()
	x.DueMillis = due
	if x.List != nil {
		x.List.Nonce = rand.Text()
	}
	return []command.Record{t.jobRecord(x, 0), t.scheduleRecord(ScheduledTask{due, x.taskKind(), x.ID})}
}

// AddJob stores a new job that begins at once.
func (t Tenant) AddJob(ctx context.Context, x *Job) error {
	records := t.newJob(ctx, x, t.now())
	err := t.putRecords(ctx, records)
	if errors.Is(err, ErrAlreadyExists) { // A repeat under the same idempotency key.
		markRepeated(ctx)
		return nil
	}
	return err
}

// AddFinishedJob stores a job that has nothing to do: it is completed from the start, with that result, and notified like
// every job that ends.
func (t Tenant) AddFinishedJob(ctx context.Context, x *Job, result string) error {
	records := t.newJob(ctx, x, t.now()+JobRetention.Milliseconds())
	x.Status, x.Result, x.FinishedMillis = JobCompleted, result, t.now()
	records[0] = t.jobRecord(x, 0)
	err := t.putRecords(ctx, append(records, t.notices(ChannelJob, noticeOf(x))...))
	if errors.Is(err, ErrAlreadyExists) { // A repeat under the same idempotency key.
		markRepeated(ctx)
		return nil
	}
	return err
}

func (t Tenant) jobRecord(x *Job, version uint64) command.Record {
	return command.Record{Kind: command.RecordJob, Marketplace: t.marketplace, ID: x.ID.String(), Value: encoded(x), Expect: version}
}

// VersionedJob returns a job for a step, or ErrNotFound.
func (t Tenant) VersionedJob(_ context.Context, id ids.UUID) (VersionedJob, error) {
	r, err := readOne(t, t.store.Groups.Meta(), func(b shard.Queries) (shard.StoredRecord, bool) {
		return b.Record(command.RecordJob, t.marketplace, id.String())
	})
	if err != nil {
		return VersionedJob{}, err
	}
	return VersionedJob{decoded[Job](r.Value), r.Version}, nil
}

// Job returns a job, or ErrNotFound.
func (t Tenant) Job(ctx context.Context, id ids.UUID) (Job, error) {
	at, err := t.VersionedJob(ctx, id)
	return at.Job, err
}

// StepJob writes a step of a job together with further records. It returns ErrChanged when the job is not as it was read; then
// nothing was written.
func (t Tenant) StepJob(ctx context.Context, at VersionedJob, step func(*Job), more ...command.Record) error {
	records := append(slices.Clone(more), t.stepRecords(&at, step)...)
	r, err := t.proposeRecords(ctx, records)
	if r.Refusal == command.Conflict || r.Refusal == command.NotFound {
		return ErrChanged
	}
	return err
}

// stepRecords are the records of a job after a step: the job, its task, and the notification of its end.
func (t Tenant) stepRecords(at *VersionedJob, step func(*Job)) []command.Record {
	before, after := at.Job, at.Job
	after.Reported = maps.Clone(before.Reported)
	after.Handed = slices.Clone(before.Handed)
	if before.List != nil {
		after.List = new(*before.List)
	}
	if before.Models != nil {
		after.Models = new(*before.Models)
	}
	step(&after)
	after.UpdatedMillis = t.now()
	var more []command.Record
	if after.Final() && !before.Final() {
		after.FinishedMillis = t.now()
		after.DueMillis = after.FinishedMillis + JobRetention.Milliseconds()
		more = t.notices(ChannelJob, noticeOf(&after))
	}
	if kind := after.taskKind(); after.DueMillis != before.DueMillis {
		more = append(more, t.unscheduleRecord(ScheduledTask{before.DueMillis, kind, after.ID}), t.scheduleRecord(ScheduledTask{after.DueMillis, kind, after.ID}))
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

func noticeOf(x *Job) jobNotice { return jobNotice{x.ID.String(), x.Type, x.Status, x.VendorID} }

// ChangeJob rewrites a job, and tries again when another writer was faster. fn may run several times. An error of fn is
// returned, and nothing is written.
func (t Tenant) ChangeJob(ctx context.Context, id ids.UUID, fn func(*Job) error) (Job, error) {
	for range maxAttempts {
		at, err := t.VersionedJob(ctx, id)
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

// ForgetJob deletes a job that was kept long enough.
func (t Tenant) ForgetJob(ctx context.Context, at VersionedJob) error {
	deletion := command.Record{Kind: command.RecordJob, Marketplace: t.marketplace, ID: at.ID.String(), Expect: at.version}
	return t.putRecords(ctx, []command.Record{deletion, t.unscheduleRecord(ScheduledTask{at.DueMillis, at.taskKind(), at.ID})})
}
