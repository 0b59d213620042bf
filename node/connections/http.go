package connections

import (
	"net"
	"net/http"
)

// OfHTTP is the ConnState of an http.Server on a Listener: it reports what becomes of connections. net/http calls a request
// active once its head was read. REQUIRES: the listener is the one that the server accepts from, without another around it.
func OfHTTP(c net.Conn, state http.ConnState) {
	of, ok := c.(*Conn)
	switch {
	case !ok:
	case state == http.StateActive:
		of.Begin() // A connection that was closed for another one fails by itself.
	case state == http.StateIdle:
		of.End()
	}
}
