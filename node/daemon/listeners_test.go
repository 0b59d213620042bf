package daemon

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"
)

// A client that downloads and does not read is disconnected when the time to drain is over.
func TestShutdownEndsConnectionsOfSlowReaders(t *testing.T) {
	writing, broken := make(chan struct{}), make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer close(broken)
		close(writing)
		for err := error(nil); err == nil; {
			_, err = w.Write(make([]byte, 1<<20))
		}
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(l) }() // It ends with the test.
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Write([]byte("GET / HTTP/1.1\r\nHost: gavel\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	<-writing
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := shutdownServer(ctx, server); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the shutdown returned %v", err)
	}
	<-broken
}
