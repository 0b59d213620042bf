package forward

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A leader stops answering just after an answer, while the queue to it is full of commands whose callers have left. A
// new caller waits no longer than its deadline, learns that nothing was sent, and the connection is closed.
func TestFullLinkToASilentLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _, end := lone(t)
		l := NewClient(nil)
		here, peer := net.Pipe()
		k := addLink(l, here)
		r := bufio.NewReader(peer)
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			answerOne(t, peer, r)
		}()
		ask := func(ctx context.Context) error {
			_, err := l.request(ctx, g, "peer", opPropose, make([]byte, 16<<10))
			return err
		}
		if err := ask(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-answered

		for len(k.out) < cap(k.out) { // Callers without a deadline that leave soon.
			ctx, leave := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for range cap(k.out) - len(k.out) {
				all.Go(func() { _ = ask(ctx) })
			}
			time.Sleep(100 * time.Millisecond)
			leave()
			all.Wait()
		}
		if l.lost.Load() != 0 {
			t.Fatal("the connection is gone before the test")
		}

		began := time.Now()
		done := make(chan error, 10)
		for range cap(done) {
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				done <- ask(ctx)
			}()
		}
		late := time.After(10 * time.Second)
		for range cap(done) {
			select {
			case err := <-done:
				if took := time.Since(began); took > time.Second || !errors.Is(err, errNotSent) {
					t.Errorf("%v after %s", err, took)
				}
			case <-late:
				t.Errorf("a caller with a second of time waits for %s", time.Since(began))
				peer.Close()
				late = nil
				<-done
			}
		}
		if l.lost.Load() != 1 {
			t.Error("the connection is kept")
		}
		l.Close()
		end()
		if err := peer.Close(); err != nil {
			t.Error(err)
		}
	})
}

// addLink starts a link to a node at the address "peer".
func addLink(l *Client, c net.Conn) *link {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.add("peer", c)
}

// answerOne reads a request and answers it.
func answerOne(t *testing.T, c net.Conn, r *bufio.Reader) {
	b, err := readFrame(r)
	if err != nil {
		t.Error(err)
		return
	}
	answer := binary.BigEndian.AppendUint32(nil, frameHead-4)
	if _, err := c.Write(append(append(answer, statusOK), b[1:9]...)); err != nil {
		t.Error(err)
	}
}

// A request goes to the node that another one names as the leader, although this node still believes in a different
// leader.
func TestHintIsFollowedAgainstOwnBelief(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _, end := lone(t) // It believes that it leads itself.
		l := NewClient(nil)
		here, peer := net.Pipe()
		addLink(l, here)
		go answerOne(t, peer, bufio.NewReader(peer))
		if f, err := l.request(t.Context(), g, "peer", opPropose, nil); err != nil || f.status != statusOK {
			t.Errorf("%+v, %v", f, err)
		}
		l.Close()
		end()
		if err := peer.Close(); err != nil {
			t.Error(err)
		}
	})
}

// confirming is a leader that confirms every read at once.
type confirming struct{}

func (confirming) Propose(context.Context, uint16, []byte) ([]byte, uint64, error) {
	return nil, 0, nil
}
func (confirming) ReadIndex(context.Context, uint16) (uint64, error) { return 7, nil }
func (confirming) Address(uint16) string                             { return "" }

// flood sends requests until no more can be sent, and reads no answer.
func flood(c net.Conn, sent *atomic.Int64) {
	request := binary.BigEndian.AppendUint32(nil, requestHead-4)
	request = append(request, byte(opReadIndex))
	request = binary.BigEndian.AppendUint64(request, 1)
	request = binary.BigEndian.AppendUint16(request, 1)
	for {
		if _, err := c.Write(request); err != nil {
			return
		}
		sent.Add(1)
	}
}

// A peer sends thousands of requests, reads no answer, and disconnects: the node ends its goroutines at once.
func TestServeEndsWithAPeerThatNeverRead(t *testing.T) {
	served(t, func(peer net.Conn, ended <-chan struct{}) time.Duration {
		began := time.Now()
		peer.Close()
		select {
		case <-ended:
		case <-time.After(time.Minute):
		}
		return time.Since(began)
	}, 0)
}

// A peer that stays connected is disconnected after writeTimeout.
func TestServeGivesUpAPeerThatNeverReads(t *testing.T) {
	began := time.Time{}
	served(t, func(_ net.Conn, ended <-chan struct{}) time.Duration {
		began = time.Now()
		select {
		case <-ended:
		case <-time.After(time.Minute):
		}
		return time.Since(began)
	}, writeTimeout)
}

// served floods a node with requests until both sides are blocked, runs a function, and checks how long the node then
// takes to end its goroutines.
func served(t *testing.T, follows func(peer net.Conn, ended <-chan struct{}) time.Duration, atMost time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		here, peer := net.Pipe()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			Serve(t.Context(), here, confirming{})
		}()
		var sent atomic.Int64
		go flood(peer, &sent)
		for before := int64(-1); before != sent.Load(); time.Sleep(10 * time.Millisecond) {
			before = sent.Load()
		}
		if sent.Load() < 2*RequestsMax {
			t.Errorf("it stands still after %d requests: the test tests nothing", sent.Load())
		}
		if took := follows(peer, ended); took > atMost {
			t.Errorf("the node is busy with a peer that does not read for %s", took)
		}
		select {
		case <-ended:
		default:
			t.Fatal("it goes on for ever")
		}
		if err := peer.Close(); err != nil {
			t.Error(err)
		}
	})
}
