package daemon

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/node/delivery"
	"github.com/gavel-ads/gavel/node/jobs"
	"github.com/gavel-ads/gavel/node/metrics"
	"github.com/gavel-ads/gavel/node/store"
)

// mailQueue returns the queue of jobs that sends invitation mails; false when no mail server is configured.
func (n *node) mailQueue() (jobs.Worker, bool) {
	c := n.cfg.SMTP
	if c.Server == "" {
		return jobs.Worker{}, false
	}
	sender := delivery.NewMailSender(delivery.MailConfig{Server: c.Server, From: c.From, Username: c.Username, Password: c.Password.Reveal(), TLS: c.TLS})
	public := n.cfg.PublicURL(n.manage.Addr().String())
	return jobs.MailWorker(func(ctx context.Context, t store.Tenant, i *store.Invitation) (bool, error) {
		shop := t.Settings().Name
		err := sender.Send(ctx, delivery.Mail{
			ID: fmt.Sprintf("%s.%d@gavel", i.ID, i.Mail.QueuedMillis), To: i.Email, Subject: "Invitation to " + shop,
			Text: fmt.Sprintf("You are invited to work for %s at %s.\n\nOpen this address to accept; it works once, until %s:\n\n%s\n",
				i.VendorID, shop, time.UnixMilli(i.ExpiresMillis).UTC().Format(time.RFC1123), public+store.AcceptPath+i.AcceptToken()),
		})
		n.mailCounts.count(i.Mail.Attempts, err)
		return delivery.PermanentMail(err), err
	}, n.log), true
}

// mailCounts counts mails since the start of the node. It is safe for concurrent use.
type mailCounts struct{ queued, sent, retried, failed atomic.Uint64 }

// count counts the attempt with this number, starting at 1, to send a mail.
func (m *mailCounts) count(attempt int, err error) {
	if attempt == 1 {
		m.queued.Add(1)
	}
	switch {
	case err == nil:
		m.sent.Add(1)
	case delivery.PermanentMail(err) || attempt >= store.MailAttempts:
		m.failed.Add(1)
	default:
		m.retried.Add(1)
	}
}

// read returns the counts, or nil when no mail server is configured.
func (m *mailCounts) read(configured bool) *metrics.Mails {
	if !configured {
		return nil
	}
	return &metrics.Mails{Queued: m.queued.Load(), Sent: m.sent.Load(), Retried: m.retried.Load(), Failed: m.failed.Load()}
}
