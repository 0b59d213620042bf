package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// client is one connection that repeatedly sends a request and waits for its answer.
type client struct {
	conn net.Conn
	in   *bufio.Reader
	next int // The index of the next request.
}

func dial(addr string, first int) (*client, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), next: first}, nil
}

// exchange sends a request and returns the body of its answer, which is valid until the next call. It understands only the
// HTTP that the two servers write.
func (c *client) exchange(raw []byte) ([]byte, error) {
	if _, err := c.conn.Write(raw); err != nil {
		return nil, err
	}
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 201 ")) {
		return nil, fmt.Errorf("answered with %q", line)
	}
	length := -1
	for {
		if line, err = c.in.ReadSlice('\n'); err != nil {
			return nil, err
		}
		if len(line) == 2 {
			break
		}
		if value, found := bytes.CutPrefix(line, []byte("Content-Length: ")); found {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return nil, err
			}
		}
	}
	if length < 0 {
		return nil, errors.New("an answer without Content-Length")
	}
	body, err := c.in.Peek(length)
	if err != nil {
		return nil, err
	}
	_, err = c.in.Discard(length)
	return body, err
}

// load is the set of connections to one server.
type load struct {
	clients  []*client
	requests []request
}

func newLoad(addr string, requests []request) (*load, error) {
	l := &load{requests: requests}
	for i := range connections {
		c, err := dial(addr, i*len(requests)/connections)
		if err != nil {
			return nil, err
		}
		l.clients = append(l.clients, c)
		if _, err = c.exchange(requests[c.next].bytes); err != nil { // A connection without a request would be closed.
			return nil, err
		}
	}
	return l, nil
}

func (l *load) close() {
	for _, c := range l.clients {
		_ = c.conn.Close()
	}
}

// run sends requests for a time and returns how many were answered.
func (l *load) run(d time.Duration) (answered int64, err error) {
	var stop atomic.Bool
	timer := time.AfterFunc(d, func() { stop.Store(true) })
	defer timer.Stop()
	var total atomic.Int64
	failures := make(chan error, len(l.clients))
	var all sync.WaitGroup
	for _, c := range l.clients {
		all.Go(func() {
			n := int64(0)
			for ; !stop.Load(); n++ {
				if _, err := c.exchange(l.requests[c.next].bytes); err != nil {
					failures <- err
					return
				}
				c.next = (c.next + 1) % len(l.requests)
			}
			total.Add(n)
		})
	}
	all.Wait()
	close(failures)
	if err = <-failures; errors.Is(err, io.EOF) {
		err = errors.New("the server closed the connection")
	}
	return total.Load(), err
}
