package store

import (
	"context"
	"time"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// AcceptPath is the console's page for the links of invitations. The token follows as the fragment, which browsers send to no
// server and in no Referer header.
const AcceptPath = "/console/invitation#token="

// Bounds of the emails of invitations.
const (
	MailAttempts = 6                // BOUND: attempts, over about an hour, with doubling waits.
	MailWait     = time.Minute      // The wait before the second attempt.
	MailPause    = 10 * time.Minute // BOUND: renewing an invitation within this time sends no second email.
)

// MailState is the state of an invitation's email.
type MailState struct {
	QueuedMillis int64
	DueMillis    int64
	Attempts     int
	Sent         bool
	Failed       bool   // No further attempt will be made.
	Reason       string // The reason of the last failed attempt.
}

// queueMail schedules the email of an invitation. The returned records belong into the command that writes the invitation.
func (t Tenant) queueMail(it *Invitation) []command.Record {
	now := t.now()
	if !t.store.SendsMail || it.Accepted || it.Mail != nil && now-it.Mail.QueuedMillis < MailPause.Milliseconds() {
		return nil
	}
	it.Mail = &MailState{QueuedMillis: now, DueMillis: now}
	return []command.Record{t.scheduleRecord(ScheduledTask{now, TaskMail, it.ID})}
}

// BeginMail counts an attempt before it is made, and schedules the next one. So when a leader ends in the middle of an attempt, the
// next leader does not send the email again at once. ErrWrongState when there is nothing to send any more.
func (t Tenant) BeginMail(ctx context.Context, d ScheduledTask) (Invitation, error) {
	return invitations.update(ctx, t, keyOfID(d.ID), func(x *Invitation) ([]command.Record, error) {
		m := x.Mail
		if m == nil || m.Sent || m.Failed || m.DueMillis != d.Millis || x.Status(t.now()) != InvitationPending {
			return nil, ErrWrongState
		}
		next := *m
		next.Attempts++
		next.DueMillis = t.now() + (MailWait << (next.Attempts - 1)).Milliseconds()
		x.Mail = &next
		return []command.Record{t.unscheduleRecord(d), t.scheduleRecord(ScheduledTask{next.DueMillis, TaskMail, d.ID})}, nil
	})
}

// EndMail records the result of an attempt. An empty reason means that the email was sent; permanent means that another attempt
// is useless.
func (t Tenant) EndMail(ctx context.Context, id ids.UUID, reason string, permanent bool) error {
	_, err := invitations.update(ctx, t, keyOfID(id), func(x *Invitation) ([]command.Record, error) {
		if x.Mail == nil {
			return nil, ErrWrongState
		}
		next := *x.Mail
		next.Reason, next.Sent = reason, reason == ""
		next.Failed = !next.Sent && (permanent || next.Attempts >= MailAttempts)
		x.Mail = &next
		if !next.Sent && !next.Failed {
			return nil, nil
		}
		return []command.Record{t.unscheduleRecord(ScheduledTask{next.DueMillis, TaskMail, id})}, nil
	})
	return err
}
