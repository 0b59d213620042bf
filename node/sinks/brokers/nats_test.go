package brokers

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/gavel-ads/gavel/node/sinks"
	"github.com/gavel-ads/gavel/node/sinks/sinkstest"
	"github.com/gavel-ads/gavel/shard/event"
)

// startNATS starts a server with JetStream, whose files are in a directory; port -1 is any.
func startNATS(t *testing.T, dir string, port int, change func(*server.Options)) *server.Server {
	t.Helper()
	o := &server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true}
	if change != nil {
		change(o)
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(patience) {
		t.Fatal("the server is not ready")
	}
	return s
}

func portOf(s *server.Server) int { return s.Addr().(*net.TCPAddr).Port }

// openNATS returns a broker, closed at the end of the test, with some settings changed.
func openNATS(t *testing.T, s *server.Server, change func(*sinks.NATSConfig)) sinks.Broker {
	t.Helper()
	config := sinks.NATSConfig{Servers: []string{s.Addr().String()}, Subject: "gavel"}
	if change != nil {
		change(&config)
	}
	b, err := sinks.OpenNATS(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// stream creates the stream that an operator creates, if it is missing.
func stream(t *testing.T, s *server.Server) jetstream.Stream {
	t.Helper()
	conn, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	made, err := js.CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{Name: "GAVEL", Subjects: []string{"gavel.>"}})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// stored returns all messages of a stream.
func stored(t *testing.T, from jetstream.Stream) (all []sinkstest.Received, subjects map[string]bool) {
	t.Helper()
	info, err := from.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	reader, err := from.OrderedConsumer(t.Context(), jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	subjects = map[string]bool{}
	for uint64(len(all)) < info.State.Msgs {
		some, err := reader.Fetch(min(1_000, int(info.State.Msgs)-len(all)), jetstream.FetchMaxWait(patience))
		if err != nil {
			t.Fatal(err)
		}
		for m := range some.Messages() {
			all = append(all, sinkstest.Received{ID: m.Headers().Get("Nats-Msg-Id"), Body: m.Data()})
			subjects[m.Subject()] = true
		}
		if err := some.Error(); err != nil {
			t.Fatal(err)
		}
	}
	return all, subjects
}

// TestNATSHasTheJournal: the stream has every charge, reversal and item once, by type and marketplace, also when everything is sent again.
func TestNATSHasTheJournal(t *testing.T) {
	w, server := busyShop(t), startNATS(t, t.TempDir(), -1, nil)
	from := stream(t, server)
	b := openNATS(t, server, nil)
	for _, cursor := range []string{"first", "again"} {
		if failed := w.Send(w.Sink(w.Store, cursor, b)); failed != 0 {
			t.Fatalf("%d rounds failed", failed)
		}
	}
	all, subjects := stored(t, from)
	if types, repeats := w.Compare(all); repeats != 0 || types["charge"] < 30 || types["conversion"] < 5 || types["reversal"] == 0 || types["return"] == 0 {
		t.Errorf("%v, %d repeats, which JetStream would have dropped", types, repeats)
	}
	for _, kind := range []string{"charges", "reversals", "conversions", "returns"} {
		if !subjects["gavel."+kind+".00000000-0000-7000-8000-000000000001"] {
			t.Errorf("no message has a subject of %s: %v", kind, subjects)
		}
	}
}

// TestNATSMayBeAway: rounds fail while the server is away, and when it is back, what it acknowledged is there and the rest is sent.
func TestNATSMayBeAway(t *testing.T) {
	w, dir := sinkstest.NewShop(t), t.TempDir()
	first := startNATS(t, dir, -1, nil)
	stream(t, first)
	s := w.Sink(w.Store, "nats", openNATS(t, first, nil))
	w.Traffic(30)
	w.Send(s)
	port := portOf(first)
	first.Shutdown()
	first.WaitForShutdown()
	w.Traffic(30)
	failed := 0
	for _, g := range w.Data() {
		if _, err := s.Follow(g).Round(t.Context()); err != nil {
			failed++
		}
	}
	if failed == 0 {
		t.Error("the server is away, and no round failed")
	}
	again := startNATS(t, dir, port, nil)
	from := stream(t, again)
	sendUntil(t, w, s)
	all, _ := stored(t, from)
	if _, repeats := w.Compare(all); repeats != 0 {
		t.Errorf("%d repeats, which JetStream would have dropped", repeats)
	}
}

// sendUntil does rounds until none fails: the client reconnects by itself after some time.
func sendUntil(t *testing.T, w *sinkstest.Shop, s *sinks.Sink) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, g := range w.Data() {
		f := s.Follow(g)
		for more := true; more; {
			var err error
			if more, err = f.Round(ctx); err != nil {
				if ctx.Err() != nil {
					t.Fatal(err)
				}
				more = true
				time.Sleep(10 * time.Millisecond)
			}
		}
	}
}

// TestNATSWithoutAStream: a round says that the stream is missing.
func TestNATSWithoutAStream(t *testing.T) {
	w, server := sinkstest.NewShop(t), startNATS(t, t.TempDir(), -1, nil)
	w.Touch(event.Click, 1, 500)
	s := w.Sink(w.Store, "nats", openNATS(t, server, nil))
	_, err := s.Follow(w.GroupOf(1)).Round(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no stream with this subject") {
		t.Errorf("without a stream: %v", err)
	}
	from := stream(t, server)
	w.Send(s)
	all, _ := stored(t, from)
	w.Compare(all)
}

// TestNATSWithTLSAndPassword: connections with TLS and a user are used, and those with a wrong password are not, without showing it.
func TestNATSWithTLSAndPassword(t *testing.T) {
	const secret = "s3cret-of-the-broker"
	certificate, authority := makeCertificate(t)
	w := sinkstest.NewShop(t)
	w.Touch(event.Click, 1, 500)
	server := startNATS(t, t.TempDir(), -1, func(o *server.Options) {
		o.Username, o.Password = "gavel", secret
		o.TLS, o.TLSTimeout, o.TLSConfig = true, 10, &tls.Config{Certificates: []tls.Certificate{certificate}}
	})
	login := func(password string) sinks.Broker {
		return openNATS(t, server, func(c *sinks.NATSConfig) {
			c.Username, c.Password, c.TLS = "gavel", password, sinks.TLS{Enabled: true, Authority: authority}
		})
	}
	_, err := w.Sink(w.Store, "wrong", login("w"+secret)).Follow(w.GroupOf(1)).Round(t.Context())
	if err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("with a wrong password: %v", err)
	}
	conn, err := nats.Connect(server.ClientURL(), nats.UserInfo("gavel", secret), nats.RootCAs(authority))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "GAVEL", Subjects: []string{"gavel.>"}}); err != nil {
		t.Fatal(err)
	}
	s := w.Sink(w.Store, "right", login(secret))
	if failed := w.Send(s); failed != 0 || s.Stats().Sent != 1 {
		t.Errorf("%d rounds failed, %d messages were sent", failed, s.Stats().Sent)
	}
}

// TestClosedBrokersSendNothing: after Close, a Publish ends at once with an error.
func TestClosedBrokersSendNothing(t *testing.T) {
	for name, b := range map[string]sinks.Broker{
		"kafka": openKafka(t, kafkaCluster(t), nil), "nats": openNATS(t, startNATS(t, t.TempDir(), -1, nil), nil),
	} {
		b.Close()
		if err := b.Publish(t.Context(), []sinks.Message{{ID: "1", Type: sinks.Charge}}); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
