package jobs

import (
	"context"
	"log/slog"

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
			reason = failed.Error()
			log.Warn("mail_not_sent", slog.String("invitation", i.ID.String()), slog.Int("attempt", i.Mail.Attempts), slog.Bool("permanent", permanent), slog.Any("err", failed))
		}
		return t.EndMail(context.WithoutCancel(ctx), i.ID, reason, permanent)
	}}
}
