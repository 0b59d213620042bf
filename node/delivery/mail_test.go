package delivery_test

import (
	"bufio"
	"net"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/delivery"
)

// serveMail runs a mail server for one email, which answers RCPT with the given line. received gets what the client sent.
func serveMail(t *testing.T, rcpt string) (address string, received chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	received = make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		_ = c.SetDeadline(time.Now().Add(5 * time.Second)) // A client that gives up may leave the connection open.
		var all strings.Builder
		r, w := textproto.NewReader(bufio.NewReader(c)), textproto.NewWriter(bufio.NewWriter(c))
		_ = w.PrintfLine("220 test")
		for {
			line, err := r.ReadLine()
			if err != nil {
				break
			}
			all.WriteString(line + "\n")
			answer := "250 ok"
			switch word, _, _ := strings.Cut(line, " "); strings.ToUpper(word) {
			case "RCPT":
				answer = rcpt
			case "DATA":
				_ = w.PrintfLine("354 go on")
				text, _ := r.ReadDotBytes() // An email that is cut off has no end.
				all.Write(text)
			case "QUIT":
				answer = "221 bye"
			}
			_ = w.PrintfLine("%s", answer)
		}
		received <- all.String()
	}()
	return l.Addr().String(), received
}

func TestMailSend(t *testing.T) {
	address, received := serveMail(t, "250 ok")
	s := delivery.NewMailSender(delivery.MailConfig{Server: address, From: "shop@example.com", TLS: delivery.MailPlain})
	message := delivery.Mail{ID: "one@gavel", To: "vendor@example.com", Subject: "Grüße", Text: "Open http://x/accept#token\n"}
	if err := s.Send(t.Context(), message); err != nil {
		t.Fatal(err)
	}
	got := <-received
	for _, want := range []string{"MAIL FROM:<shop@example.com>", "RCPT TO:<vendor@example.com>", "Message-ID: <one@gavel>", "=?UTF-8?", "Open http://x/accept#token"} {
		if !strings.Contains(got, want) {
			t.Errorf("the server did not receive %q:\n%s", want, got)
		}
	}
}

func TestMailRefusals(t *testing.T) {
	for answer, permanent := range map[string]bool{"550 no such mailbox": true, "451 later": false} {
		address, _ := serveMail(t, answer)
		err := delivery.NewMailSender(delivery.MailConfig{Server: address, From: "shop@example.com", TLS: delivery.MailPlain}).Send(t.Context(), delivery.Mail{ID: "a@b", To: "v@example.com"})
		if err == nil || delivery.PermanentMail(err) != permanent {
			t.Errorf("%s: %v, permanent %v", answer, err, delivery.PermanentMail(err))
		}
	}
	address, received := serveMail(t, "250 ok")
	err := delivery.NewMailSender(delivery.MailConfig{Server: address, From: "shop@example.com", TLS: delivery.MailStartTLS}).Send(t.Context(), delivery.Mail{ID: "a@b", To: "v@example.com"})
	if err == nil || strings.Contains(<-received, "RCPT") {
		t.Errorf("an email was sent without encryption: %v", err)
	}
	if err := delivery.NewMailSender(delivery.MailConfig{Server: address, From: "shop@example.com"}).Send(t.Context(), delivery.Mail{ID: "a@b", To: "nobody\r\nBCC: x@y.z"}); !delivery.PermanentMail(err) {
		t.Errorf("an address with a line feed: %v", err)
	}
}
