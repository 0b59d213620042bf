package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/textproto"

	"github.com/gavel-ads/gavel/node/outbound"
	"github.com/gavel-ads/gavel/node/store"
)

// mailsAtOnce bounds the letters under way. BOUND: a server that hangs takes 20 s each.
const mailsAtOnce = 4

// Mails is the lane that sends the letters of invitations. send says with its error whether another attempt is of use.
func Mails(send func(ctx context.Context, t store.Tenant, i *store.Invitation) (permanent bool, err error), log *slog.Logger) Lane {
	return Lane{Kind: store.DueMail, AtOnce: mailsAtOnce, Follow: func(ctx context.Context, t store.Tenant, d store.Due) error {
		i, err := t.BeginMail(ctx, d)
		if err != nil {
			return err
		}
		permanent, failed := send(ctx, t, &i)
		reason := ""
		if failed != nil {
			reason = mailReason(failed)
			log.Warn("mail_not_sent", slog.String("invitation", i.ID.String()), slog.Int("attempt", i.Mail.Attempts), slog.Bool("permanent", permanent), slog.Any("err", failed))
		}
		return t.EndMail(context.WithoutCancel(ctx), i.ID, reason, permanent)
	}}
}

// mailReason is what a marketplace is shown of a failure: the mail server is the operator's, and neither its address nor its
// text is the marketplace's to know.
func mailReason(failed error) string {
	if answer, ok := errors.AsType[*textproto.Error](failed); ok {
		return fmt.Sprintf("the mail server answered %d", answer.Code)
	}
	if reason := outbound.Reason(failed); reason != outbound.ReasonOther {
		return reason
	}
	return "the mail server did not take the letter"
}
