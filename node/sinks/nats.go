package sinks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// NATSConfig says where messages go in a NATS system. A stream that contains the subjects must exist:
// SUBJECT.charges.MARKETPLACE, and the same with reversals, conversions and returns, each with the id of a marketplace.
type NATSConfig struct {
	Servers            []string // HOST:PORT; some of the cluster.
	Subject            string
	TLS                TLS
	Username, Password string // Empty: none.
	Token              string // Empty: none.
	Credentials        string // File with a user's JWT and key; empty: none.
}

// natsConnectTimeout bounds one attempt to connect. BOUND: the client tries the servers one after the other.
const natsConnectTimeout = 5 * time.Second

// natsReconnectWait is the pause between two rounds of attempts; the client adds its own jitter.
const natsReconnectWait = 2 * time.Second

// jetStream publishes messages to a stream and waits for its acknowledgements. Each message has its id in Nats-Msg-Id, so the stream
// drops repeats within its duplicate window.
type jetStream struct {
	subject string
	servers string
	options []nats.Option

	stop chan struct{} // Closed by Close.

	mu        sync.Mutex    // LOCKS: it guards the fields below.
	attempted chan struct{} // Closed after the first attempt to connect; nil before it, and after one that was given up.
	failed    error         // Of the last attempt, when conn is nil.
	conn      *nats.Conn
	stream    jetstream.JetStream
	closed    bool
}

// OpenNATS returns a broker that connects when it is used first.
func OpenNATS(c NATSConfig) (Broker, error) {
	secure, err := c.TLS.config()
	if err != nil {
		return nil, err
	}
	j := &jetStream{subject: c.Subject, servers: strings.Join(c.Servers, ","), stop: make(chan struct{}), options: []nats.Option{
		nats.Name("gavel"), nats.Timeout(natsConnectTimeout), nats.MaxReconnects(-1), nats.ReconnectWait(natsReconnectWait),
		nats.RetryOnFailedConnect(true), nats.IgnoreAuthErrorAbort(), nats.ReconnectBufSize(-1), // What cannot be sent now is an error, and is sent again later.
	}}
	if secure != nil {
		j.options = append(j.options, nats.Secure(secure))
	}
	switch {
	case c.Credentials != "":
		j.options = append(j.options, nats.UserCredentials(c.Credentials))
	case c.Token != "":
		j.options = append(j.options, nats.Token(c.Token))
	case c.Username != "":
		j.options = append(j.options, nats.UserInfo(c.Username, c.Password))
	}
	return j, nil
}

// Publish publishes the messages without waiting for each, and then waits for all acknowledgements.
func (j *jetStream) Publish(ctx context.Context, batch []Message) error {
	stream, err := j.connected(ctx)
	if err != nil {
		return err
	}
	futures := make([]jetstream.PubAckFuture, len(batch))
	for i := range batch {
		m := &batch[i]
		msg := nats.NewMsg(j.subject + "." + string(m.Type) + "s." + m.Marketplace)
		msg.Data = m.Body
		if futures[i], err = stream.PublishMsgAsync(msg, jetstream.WithMsgID(m.ID)); err != nil {
			return fmt.Errorf("nats subject %s: %w", msg.Subject, err)
		}
	}
	for _, f := range futures {
		select {
		case <-f.Ok():
		case err := <-f.Err():
			if errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrNoResponders) {
				err = fmt.Errorf("%w: there is no stream with this subject", err)
			}
			return fmt.Errorf("nats subject %s: %w", f.Msg().Subject, err)
		case <-j.stop:
			return errClosed
		case <-ctx.Done():
			return fmt.Errorf("nats subject %s was not acknowledged: %w", f.Msg().Subject, ctx.Err())
		}
	}
	return nil
}

// connected returns the stream's client when the connection is open. It waits for the first attempt to connect.
func (j *jetStream) connected(ctx context.Context) (jetstream.JetStream, error) {
	select {
	case <-j.attempt():
	case <-j.stop:
		return nil, errClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.conn == nil {
		return nil, j.failed
	}
	if status := j.conn.Status(); status != nats.CONNECTED {
		return nil, fmt.Errorf("nats: not connected (%s): %w", strings.ToLower(status.String()), reason(j.conn.LastError()))
	}
	return j.stream, nil
}

// attempt begins to connect, unless that has begun, and returns what is closed after the first attempt. From then on the client
// reconnects by itself.
func (j *jetStream) attempt() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.attempted == nil {
		j.attempted = make(chan struct{})
		go j.connect(j.attempted) // It ends within natsConnectTimeout for each server, also after Close.
	}
	return j.attempted
}

func (j *jetStream) connect(attempted chan struct{}) {
	defer close(attempted)
	conn, err := nats.Connect(j.servers, j.options...)
	var stream jetstream.JetStream
	if err == nil {
		stream, err = jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(pendingMax), jetstream.WithPublishAsyncTimeout(publishTimeout))
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err == nil && j.closed {
		err = errClosed
	}
	if err != nil {
		j.failed, j.attempted = fmt.Errorf("nats: %w", err), nil // The next Publish tries again.
		if conn != nil {
			conn.Close()
		}
		return
	}
	j.conn, j.stream = conn, stream
}

// pendingMax is how many messages of all groups may wait for their acknowledgement. BOUND: some batches.
const pendingMax = 16 * batchMax

var errNotYet = errors.New("no server has answered yet")

func reason(last error) error {
	if last == nil {
		return errNotYet
	}
	return last
}

// Close ends the connection, and every Publish that waits.
func (j *jetStream) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return
	}
	j.closed = true
	close(j.stop)
	if j.conn != nil {
		j.conn.Close()
	}
}
