//go:build !race

package driver_test

import (
	"net"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
)

// echo answers every request that arrives in one read, without allocating.
func echo(l net.Listener) {
	s, err := l.Accept()
	if err != nil {
		return
	}
	defer func() { _ = s.Close() }()
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
	in := make([]byte, 64<<10)
	for {
		if _, err := s.Read(in); err != nil {
			return
		}
		if _, err := s.Write(answer); err != nil {
			return
		}
	}
}

func TestPostDoesNotAllocate(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go echo(l)
	c, err := driver.NewConn("http://"+l.Addr().String(), "k", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	body := make([]byte, 8<<10)
	post := func() {
		if status, _, err := c.Post("/v2/events", body); err != nil || status != 200 {
			t.Fatal(status, err)
		}
	}
	post()
	if n := testing.AllocsPerRun(200, post); n != 0 {
		t.Errorf("%g allocations an exchange", n)
	}
}

func BenchmarkPost(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go echo(l)
	c, err := driver.NewConn("http://"+l.Addr().String(), "k", time.Second)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	body := make([]byte, 8<<10)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := c.Post("/v2/events", body); err != nil {
			b.Fatal(err)
		}
	}
}
