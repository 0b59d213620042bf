package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Nodes exchange files by HTTP/1.1, on connections that the peer port has authenticated: PUT, GET and DELETE of /NAME. The
// trailer Repr-Digest carries the hash of a file, see digest.go.
const (
	stallTimeout = 10 * time.Second // BOUND: time for a piece of a copy, at most 32 KiB, and for an answer.
	dialTimeout  = 3 * time.Second
	copyTimeout  = 2 * time.Minute // BOUND: a whole copy.
)

var errStalled = errors.New("the copy made no progress")

// exchange sends a request to a node. It returns the answer to it if that is a success, else an error: ErrNotFound for 404.
// The caller closes its body. progress has to be called whenever a part of the file was read or sent.
func (s *Shared) exchange(ctx context.Context, node, method, name string, body *sender) (answer *http.Response, progress func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	stall := time.AfterFunc(stallTimeout, func() { cancel(errStalled) })
	progress = func() { stall.Reset(stallTimeout) }
	defer func() {
		if err == nil {
			answer.Body = &endingBody{answer.Body, func() { stall.Stop(); cancel(nil) }}
			return
		}
		stall.Stop()
		err = errors.Join(err, context.Cause(ctx))
		cancel(nil)
	}()
	r, err := http.NewRequestWithContext(ctx, method, "http://files/"+name, http.NoBody)
	if err != nil {
		return nil, nil, err
	}
	if body != nil {
		body.progress, body.trailer = progress, http.Header{digestField: nil}
		r.Body, r.Trailer, r.ContentLength = io.NopCloser(body), body.trailer, -1
	}
	answer, err = s.transport(node).RoundTrip(r)
	if err != nil {
		return nil, nil, err
	}
	progress()
	if answer.StatusCode/100 == 2 {
		return answer, progress, nil
	}
	_ = answer.Body.Close() // Nobody reads it.
	if answer.StatusCode == http.StatusNotFound {
		return nil, nil, ErrNotFound
	}
	return nil, nil, fmt.Errorf("the node answered %s", answer.Status)
}

// transport opens a connection to a node for one request.
func (s *Shared) transport(node string) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, dialTimeout)
			defer cancel()
			return s.nodes.Dial(ctx, node)
		},
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: headMax,
	}
}

// endingBody is a body that releases what belongs to its exchange when it is closed.
type endingBody struct {
	io.ReadCloser
	end func()
}

// Close closes the body and ends the exchange.
func (b *endingBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// push sends a copy of this node's file to another node.
func (s *Shared) push(ctx context.Context, node, name string) error {
	f, err := s.local.Open(ctx, name)
	if err != nil {
		return err
	}
	answer, _, err := s.exchange(ctx, node, http.MethodPut, name, newSender(f))
	return errors.Join(closing(answer, err), f.Close())
}

// pull stores a copy of another node's file.
func (s *Shared) pull(ctx context.Context, node, name string) error {
	answer, progress, err := s.exchange(ctx, node, http.MethodGet, name, nil)
	if err != nil {
		return err
	}
	err = s.local.Put(ctx, name, newReceiver(answer.Body, func() http.Header { return answer.Trailer }, progress))
	return closing(answer, err)
}

func (s *Shared) removeFrom(ctx context.Context, node, name string) error {
	answer, _, err := s.exchange(ctx, node, http.MethodDelete, name, nil)
	return closing(answer, err)
}

// closing closes the body of an answer, if there is one, and returns err: what matters of the body was read.
func closing(answer *http.Response, err error) error {
	if answer != nil {
		_ = answer.Body.Close()
	}
	return err
}
