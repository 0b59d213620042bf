package ingress

import (
	"net"
	"net/http"
)

// HTTPConnState is the ConnState hook of an http.Server whose connections a Listener accepts: it reports the server's
// progress to them. net/http calls a connection active when it has read the head of a request. REQUIRES: ConnOf finds the
// Conn below the connections that the server accepts.
func HTTPConnState(c net.Conn, state http.ConnState) {
	of := ConnOf(c)
	switch {
	case of == nil:
	case state == http.StateActive:
		of.Begin() // If the connection was closed in favour of another one, the server gets an error from it.
	case state == http.StateIdle:
		of.End()
	}
}
