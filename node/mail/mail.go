// Package mail sends the few letters of a node through a mail server that the operator configured.
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

// Config says by whom and how letters are sent.
type Config struct {
	Server             string // HOST:PORT.
	From               string
	Username, Password string // Empty: no authentication.
	TLS                string // starttls, tls or none.
}

// The ways to speak to a mail server.
const (
	StartTLS = "starttls" // In clear first, then TLS or nothing.
	TLS      = "tls"      // From the first byte.
	None     = "none"     // For a server on the same machine.
)

// Letter is a text to one person.
type Letter struct {
	ID      string // The same when the letter is sent again, so that a receiver can tell.
	To      string
	Subject string
	Text    string
}

// Sender sends letters, each over a connection of its own: there are few. It is safe for concurrent use.
type Sender struct{ config Config }

// sendTimeout is how long a letter may take, from the first packet to the server's word. BOUND.
const sendTimeout = 20 * time.Second

// New returns a sender. REQUIRES: a validated configuration.
func New(c Config) *Sender { return &Sender{c} }

// Send returns when the server has taken the letter.
func (s *Sender) Send(ctx context.Context, l Letter) error {
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := errors.Join(m.From(s.config.From), m.To(l.To)); err != nil {
		return fmt.Errorf("%w: %w", errForGood, err)
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

var errForGood = errors.New("the letter cannot be sent")

// Permanent reports whether sending a letter again is of no use: its address is none, or the server refused it for good.
func Permanent(err error) bool {
	refused, ok := errors.AsType[*gomail.SendError](err)
	return errors.Is(err, errForGood) || ok && !refused.IsTemp() && refused.ErrorCode() >= 500
}
