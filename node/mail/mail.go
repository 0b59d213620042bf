// Package mail sends a node's few emails through a mail server that the operator configured.
package mail

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// Config says through which server, and as whom, emails are sent.
type Config struct {
	Server             string // HOST:PORT.
	From               string
	Username, Password string // Both are empty for a server without authentication.
	TLS                string // starttls, tls or none.
}

// The values of Config.TLS.
const (
	StartTLS = "starttls" // The connection begins in clear and must switch to TLS; otherwise nothing is sent.
	TLS      = "tls"      // TLS from the first byte.
	None     = "none"     // No encryption, for a server on the same machine.
)

// Message is an email with a text to one person.
type Message struct {
	ID      string // The Message-ID. It is the same when the email is sent again, so that receivers can recognize the repeat.
	To      string
	Subject string
	Text    string
}

// Sender sends emails, each over its own connection, because there are few. It is safe for concurrent use.
type Sender struct{ config Config }

// sendTimeout is how long sending an email may take, from the first packet to the server's acceptance. BOUND.
const sendTimeout = 20 * time.Second

// New returns a sender. REQUIRES: a validated configuration.
func New(c Config) *Sender { return &Sender{c} }

// Send returns nil when the server has accepted the email. Permanent says whether another attempt after an error is useless.
func (s *Sender) Send(ctx context.Context, l Message) error {
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := errors.Join(m.From(s.config.From), m.To(l.To)); err != nil {
		return fmt.Errorf("%w: %w", errPermanent, err)
	}
	m.Subject(l.Subject)
	m.SetMessageIDWithValue(l.ID)
	m.SetDate()
	m.SetBodyString(gomail.TypeTextPlain, l.Text)
	client, err := s.client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	return client.DialAndSendWithContext(ctx, m)
}

func (s *Sender) client() (*gomail.Client, error) {
	host, port, err := net.SplitHostPort(s.config.Server)
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	options := []gomail.Option{gomail.WithPort(n), gomail.WithTimeout(sendTimeout), gomail.WithTLSPolicy(gomail.TLSMandatory)}
	switch s.config.TLS {
	case TLS:
		options = append(options, gomail.WithSSL())
	case None:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	}
	if s.config.Username != "" {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(s.config.Username), gomail.WithPassword(s.config.Password))
	}
	return gomail.NewClient(host, options...)
}

var errPermanent = errors.New("the email cannot be sent")

// Permanent reports whether sending an email again is useless: its address is invalid, or the server refused it with a 5xx code.
func Permanent(err error) bool {
	refused, ok := errors.AsType[*gomail.SendError](err)
	return errors.Is(err, errPermanent) || ok && !refused.IsTemp() && refused.ErrorCode() >= 500
}
