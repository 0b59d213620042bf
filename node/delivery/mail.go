package delivery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// MailConfig says through which server, and as whom, emails are sent.
type MailConfig struct {
	Server             string // HOST:PORT.
	From               string
	Username, Password string // Both are empty for a server without authentication.
	TLS                string // starttls, tls or none.
}

// The values of Config.MailTLS.
const (
	MailStartTLS = "starttls" // The connection begins in clear and must switch to MailTLS; otherwise nothing is sent.
	MailTLS      = "tls"      // MailTLS from the first byte.
	MailPlain    = "none"     // No encryption, for a server on the same machine.
)

// Mail is an email with a text to one person.
type Mail struct {
	ID      string // The Message-ID. It is the same when the email is sent again, so that receivers can recognize the repeat.
	To      string
	Subject string
	Text    string
}

// MailSender sends emails, each over its own connection, because there are few. It is safe for concurrent use.
type MailSender struct{ config MailConfig }

// mailTimeout is how long sending an email may take, from the first packet to the server's acceptance. BOUND.
const mailTimeout = 20 * time.Second

// NewMailSender returns a sender. REQUIRES: a validated configuration.
func NewMailSender(c MailConfig) *MailSender { return &MailSender{c} }

// Send returns nil when the server has accepted the email. Permanent says whether another attempt after an error is useless.
func (s *MailSender) Send(ctx context.Context, l Mail) error {
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := errors.Join(m.From(s.config.From), m.To(l.To)); err != nil {
		return fmt.Errorf("%w: %w", errMailPermanent, err)
	}
	m.Subject(l.Subject)
	m.SetMessageIDWithValue(l.ID)
	m.SetDate()
	m.SetBodyString(gomail.TypeTextPlain, l.Text)
	client, err := s.client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, mailTimeout)
	defer cancel()
	return client.DialAndSendWithContext(ctx, m)
}

func (s *MailSender) client() (*gomail.Client, error) {
	host, port, err := net.SplitHostPort(s.config.Server)
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	options := []gomail.Option{gomail.WithPort(n), gomail.WithTimeout(mailTimeout), gomail.WithTLSPolicy(gomail.TLSMandatory)}
	switch s.config.TLS {
	case MailTLS:
		options = append(options, gomail.WithSSL())
	case MailPlain:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	}
	if s.config.Username != "" {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(s.config.Username), gomail.WithPassword(s.config.Password))
	}
	return gomail.NewClient(host, options...)
}

var errMailPermanent = errors.New("the email cannot be sent")

// PermanentMail reports whether sending an email again is useless: its address is invalid, or the server refused it with a 5xx code.
func PermanentMail(err error) bool {
	refused, ok := errors.AsType[*gomail.SendError](err)
	return errors.Is(err, errMailPermanent) || ok && !refused.IsTemp() && refused.ErrorCode() >= 500
}
