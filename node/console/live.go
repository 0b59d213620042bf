package console

import (
	"net/http"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
)

const livePath = APIBase + "/live"

// Times of a live stream.
const (
	liveCheck        = 500 * time.Millisecond // How often a stream checks that its session is open and the node does not stop.
	liveWriteTimeout = 10 * time.Second       // BOUND: how long a message may take; then the browser has gone.
)

// topicNames are the values of the query's samples.
var topicNames = map[string]topic{"": auctionSamples, "auctions": auctionSamples, "events": eventSamples, "none": ratesAlone}

// live streams rates of a marketplace, and its sampled auctions or events, to those who may read its auctions, until the session ends. An
// open stream does not keep a session open: nobody may sit in front of it.
func (h handlers) live(w http.ResponseWriter, r *http.Request) {
	who, code := h.observe(r)
	if code == apierr.OK && !slices.Contains(staff, who.Access.Role) {
		code = apierr.ForbiddenRole
	}
	if code != apierr.OK {
		h.Refuse(w, code, "")
		return
	}
	about, known := topicNames[r.URL.Query().Get("samples")]
	if !known {
		h.Refuse(w, apierr.BadRequest, "samples must be auctions, events or none")
		return
	}
	v, joined := h.hub.join(who.Access.Marketplace, about)
	if !joined {
		h.Refuse(w, apierr.ServiceUnavailable, "as many live streams are open as a node has")
		return
	}
	defer v.leave()
	h.stream(beginEvents(w), r, v, who)
}

// stream writes messages until the browser disconnects, the session or its right ends, or the node stops.
func (h handlers) stream(to eventStream, r *http.Request, v *viewer, who Identity) {
	ticker := time.NewTicker(liveCheck)
	defer ticker.Stop()
	text := []byte(": the stream is open\n\n")
	for {
		if len(text) > 0 && !to.send(text) {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case text = <-v.messages:
		case <-ticker.C:
			text = nil
			now, code := h.observe(r)
			if code != apierr.OK || now.Access != who.Access || h.draining() {
				return
			}
		}
	}
}

// draining reports whether the node is about to stop.
func (h handlers) draining() bool { return h.deps.Draining != nil && h.deps.Draining() }

// eventStream is an answer of server-sent events.
type eventStream struct {
	w  http.ResponseWriter
	to *http.ResponseController
}

// beginEvents begins an answer of server-sent events.
func beginEvents(w http.ResponseWriter) eventStream {
	to := http.NewResponseController(w)
	_ = to.SetReadDeadline(time.Time{}) // The listener's deadline is for the request, which is read.
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // A proxy must not keep messages back.
	return eventStream{w, to}
}

// send writes messages. It reports false when the browser does not take them any more.
func (s eventStream) send(text []byte) bool {
	_ = s.to.SetWriteDeadline(time.Now().Add(liveWriteTimeout)) // It fails only in tests, which have no connection.
	_, err := s.w.Write(text)
	return err == nil && s.to.Flush() == nil
}
