package hotpath_test

import (
	"bytes"
	"net"
	"time"
)

// memoryConn is a connection in memory. The client has sent everything already, and writing never blocks.
type memoryConn struct {
	in  bytes.Reader
	out []byte
}

func (c *memoryConn) Read(p []byte) (int, error) {
	return c.in.Read(p)
}

func (c *memoryConn) Write(p []byte) (int, error) {
	c.out = append(c.out, p...)
	return len(p), nil
}

func (c *memoryConn) Close() error                     { return nil }
func (c *memoryConn) LocalAddr() net.Addr              { return address }
func (c *memoryConn) RemoteAddr() net.Addr             { return address }
func (c *memoryConn) SetDeadline(time.Time) error      { return nil }
func (c *memoryConn) SetReadDeadline(time.Time) error  { return nil }
func (c *memoryConn) SetWriteDeadline(time.Time) error { return nil }

var address = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
