package manage

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/connections"
	"github.com/gavel-ads/gavel/node/serving"
)

// Bounded returns the listener for the server of HTTP, with the bound of connections of the configuration. It has to be the
// outermost: net/http reports what becomes of its connections.
func (s *Server) Bounded(l net.Listener) *connections.Listener {
	return connections.New(s.Listener(l), connections.Options{
		Name: "management", Max: s.config.Connections, Log: s.deps.Log,
		Refuse: func(c net.Conn) {
			_ = c.SetDeadline(s.deps.Now().Add(time.Second))
			answer := (&jsonConn{Conn: c, door: s}).refusal(apierr.ServiceUnavailable, "too many connections")
			_, _ = c.Write(answer) // It fits the socket's buffer. The other side may be gone.
		},
	})
}

type connKey struct{}

// connContext lets requests find their connection.
func connContext(ctx context.Context, c net.Conn) context.Context {
	of, _ := c.(*connections.Conn)
	return context.WithValue(ctx, connKey{}, of)
}

// connOf is the connection of a request; nil in tests without a listener, where its methods do nothing.
func connOf(r *http.Request) *connections.Conn {
	of, _ := r.Context().Value(connKey{}).(*connections.Conn)
	return of
}

// authenticated reports to the listener that a request had a valid key.
func authenticated(r *http.Request) { connOf(r).Authenticated() }

// unread is called before the answer to a request whose body is not read, because its sender has no right to it or the node has no
// memory for it: the connection is closed behind the answer, and what still comes is thrown away for unreadPatience at most. Small
// bodies are read and thrown away, so that the connection stays.
func (s *Server) unread(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength >= 0 && r.ContentLength <= unreadSmall && r.Header.Get("Expect") == "" {
		return
	}
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unreadPatience)) // Tests have no connection.
}

const (
	// unreadSmall is a body that is thrown away to keep the connection. BOUND: net/http holds 4 KiB of it at a time.
	unreadSmall = 64 << 10
	// unreadPatience is how long more of a refused request is read and thrown away, so that its sender gets the answer.
	unreadPatience = 2 * time.Second
)

// needsBody reports whether the body of a request on /v2 decides how it is answered, and whose request it is.
func needsBody(core *serving.Core, sc *serving.Scratch, r *http.Request) (marketplace uint16, needs bool) {
	if r.ContentLength == 0 {
		return 0, false
	}
	return core.NeedsBody(sc)
}
