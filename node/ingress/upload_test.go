package ingress_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/node/ingress"
)

// connection is a ResponseWriter with the read deadline of a connection, like net/http's.
type connection struct {
	http.ResponseWriter
	net.Conn
}

func (c connection) Write(b []byte) (int, error) { return c.ResponseWriter.Write(b) }

// begin makes the body of an upload that reads from one end of a connection, and returns the other end.
func begin(t *testing.T) (*ingress.UploadBody, net.Conn) {
	t.Helper()
	server, client := net.Pipe()
	t.Cleanup(func() { _, _ = server.Close(), client.Close() })
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	r.Body = server
	return ingress.NewUploadBody(connection{httptest.NewRecorder(), server}, r), client
}

// send writes pieces of a size with pauses between them, until the other end is closed.
func send(c net.Conn, size int, pause time.Duration) {
	piece := make([]byte, size)
	for {
		if _, err := c.Write(piece); err != nil {
			return
		}
		time.Sleep(pause)
	}
}

// TestTheRate: an upload slower than the minimum ends after the first window that shows it, and one that is just as fast does
// not end before an upload may take no longer.
func TestTheRate(t *testing.T) {
	for _, c := range []struct {
		name  string
		size  int
		pause time.Duration
		ends  time.Duration
	}{
		{"silent", 0, time.Hour, ingress.UploadWindow},
		{"a byte a second", 1, time.Second, ingress.UploadWindow},
		// No piece comes at the instant at which the window ends, since either of the two may then happen first.
		{"a byte less than the minimum", ingress.UploadMinRate - 1, time.Second + time.Millisecond, ingress.UploadWindow},
		{"a little more than the minimum", ingress.UploadMinRate, 900 * time.Millisecond, 10 * time.Minute},
		{"a window's bytes at once, then nothing", ingress.UploadMinRate * 10, time.Hour, ingress.UploadWindow},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				body, client := begin(t)
				body.MeasureRate()
				go send(client, c.size, c.pause)
				began := time.Now()
				_, err := io.Copy(io.Discard, body)
				if took := time.Since(began); !errors.Is(err, ingress.ErrUploadSlow) || took != c.ends || !body.Slow() {
					t.Errorf("ended after %v with %v, want ErrSlow after %v", took, err, c.ends)
				}
				_ = client.Close()
				time.Sleep(2 * time.Hour) // The sender ends.
			})
		})
	}
}

// TestOnlyWaitingCounts: a node that is slow itself does not end an upload.
func TestOnlyWaitingCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body, client := begin(t)
		body.MeasureRate()
		go send(client, 1, 0)
		for range 20 {
			if _, err := body.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(ingress.UploadWindow)
		}
	})
}

// TestTheForm: all that precedes the file together has one short time, however slowly it arrives.
func TestTheForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body, client := begin(t)
		go send(client, ingress.UploadMinRate, time.Second)
		began := time.Now()
		_, err := io.Copy(io.Discard, body)
		if took := time.Since(began); !errors.Is(err, ingress.ErrUploadSlow) || took != ingress.UploadFormTimeout {
			t.Errorf("ended after %v with %v", took, err)
		}
		time.Sleep(time.Minute)
	})
}

// TestLimiter: no marketplace gets all uploads of a node, and an upload that has ended makes way for another.
func TestLimiter(t *testing.T) {
	s := ingress.NewUploadLimiter(3, 2)
	release, _ := s.Acquire(1)
	if second, _ := s.Acquire(1); release == nil || second == nil {
		t.Fatal("a marketplace does not get its own uploads")
	}
	if third, why := s.Acquire(1); third != nil || why == "" {
		t.Errorf("a third upload for one marketplace, refusal %q", why)
	}
	if other, why := s.Acquire(2); other == nil {
		t.Errorf("another marketplace gets none: %s", why)
	}
	if full, why := s.Acquire(3); full != nil || why == "" {
		t.Errorf("an upload beyond the total, refusal %q", why)
	}
	release()
	if again, why := s.Acquire(3); again == nil {
		t.Errorf("an ended upload still counts: %s", why)
	}
}
