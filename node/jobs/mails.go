package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/textproto"

	"github.com/gavel-ads/gavel/node/delivery"
	"github.com/gavel-ads/gavel/node/store"
)

// mailsAtOnce bounds the emails that are sent at the same moment. BOUND: a server that does not answer takes 20 s.
const mailsAtOnce = 4

// MailWorker sends the emails of invitations. permanent is true when another attempt after the error is useless.
func MailWorker(send func(ctx context.Context, t store.Tenant, i *store.Invitation) (permanent bool, err error), log *slog.Logger) Worker {
	return Worker{Kind: store.TaskMail, AtOnce: mailsAtOnce, Do: func(ctx context.Context, t store.Tenant, d store.ScheduledTask) error {
		i, err := t.BeginMail(ctx, d)
		if err != nil {
			return err
		}
		permanent, failed := send(ctx, t, &i)
		reason := ""
		if failed != nil {
			reason = mailReason(failed)
			log.Warn("mail_send_failed", slog.String("invitation", i.ID.String()), slog.Int("attempt", i.Mail.Attempts), slog.Bool("permanent", permanent), slog.Any("err", failed))
		}
		return t.EndMail(context.WithoutCancel(ctx), i.ID, reason, permanent)
	}}
}

// mailReason is what a marketplace sees of a failure. The mail server is the operator's, so neither its address nor its text is
// part of it.
func mailReason(failed error) string {
	if answer, ok := errors.AsType[*textproto.Error](failed); ok {
		return fmt.Sprintf("the mail server answered %d", answer.Code)
	}
	if reason := delivery.Reason(failed); reason != delivery.ReasonOther {
		return reason
	}
	return "the mail server did not accept the email"
}
