package transport

import (
	"errors"
	"net"
)

// openingBytesMax bounds what is read of a connection until its header is complete: the ClientHello, a chain of
// certificates and the header. crypto/tls alone would buffer 64 KiB of a ClientHello and 256 KiB of certificates from
// any peer.
const openingBytesMax = 32 << 10

var errOpeningTooLarge = errors.New("the handshake and the header of a connection are larger than 32 KiB")

// opening is the TCP connection under an accepted connection. It returns the first byte, which wait has read, once
// more, and bounds what is read until the header is complete.
type opening struct {
	net.Conn
	first    [1]byte
	pending  bool // The first byte has not been returned by Read yet.
	complete bool
	left     int
}

// wait returns when the first byte has arrived. Before that a connection costs neither a TLS state nor buffers.
func (o *opening) wait() error {
	if _, err := o.Conn.Read(o.first[:]); err != nil {
		return err
	}
	o.pending, o.left = true, openingBytesMax
	return nil
}

// Read reads from the connection, within the bound until the header is complete.
func (o *opening) Read(b []byte) (n int, err error) {
	switch {
	case o.complete && !o.pending:
		return o.Conn.Read(b)
	case len(b) == 0:
		return 0, nil
	case o.pending:
		o.pending = false
		return copy(b, o.first[:]), nil
	case o.left == 0:
		return 0, errOpeningTooLarge
	}
	n, err = o.Conn.Read(b[:min(len(b), o.left)])
	o.left -= n
	return n, err
}
