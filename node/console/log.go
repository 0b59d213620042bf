package console

import (
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/logtail"
)

// Bounds of the stream of the log.
const (
	logStreamsMax = 20  // BOUND: open streams of this node; each may be sent all records of the tail, 2 MB.
	logTextMax    = 200 // BOUND: bytes of the text by which records are selected.
)

// LogRecords is a message of the stream: the records that were written since the message before, oldest first.
type LogRecords struct {
	Records []LogRecord `json:"records"`
	Missed  int64       `json:"missed"` // How many more there were, which the node does not keep any more.
}

// LogRecord is a record of the node's log.
type LogRecord struct {
	Number     int64               `json:"number"` // Grows with every record of the node.
	At         time.Time           `json:"at"`
	Level      string              `json:"level"`
	Message    string              `json:"message"`
	Attributes []logtail.Attribute `json:"attributes"`
}

// logLevels are the values of the query's level.
var logLevels = map[string]slog.Level{
	"": slog.LevelDebug, "debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// log streams the newest records of this node's log, those that the query selects, and then each new one. It is for admins of the first
// marketplace, as the cluster is: the log is of all marketplaces. Like the live stream it does not keep a session open.
func (h handlers) log(w http.ResponseWriter, r *http.Request) {
	if code := h.mayReadLog(r); code != apierr.OK {
		h.Refuse(w, code, "")
		return
	}
	query := r.URL.Query()
	level, known := logLevels[query.Get("level")]
	filter := logtail.Filter{Level: level, Text: query.Get("text")}
	switch {
	case !known:
		h.Refuse(w, apierr.BadRequest, "level must be debug, info, warn or error")
		return
	case len(filter.Text) > logTextMax:
		h.Refuse(w, apierr.BadRequest, "text must have at most "+strconv.Itoa(logTextMax)+" bytes")
		return
	}
	defer h.logStreams.Add(-1)
	if h.logStreams.Add(1) > logStreamsMax {
		h.Refuse(w, apierr.ServiceUnavailable, "as many streams of the log are open as a node has")
		return
	}
	// A browser that connects again names the last message that it got; a number that is none counts as none.
	after, _ := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
	h.streamLog(beginEvents(w), r, after, filter)
}

// mayReadLog returns why a request may not read the log, OK if it may.
func (h handlers) mayReadLog(r *http.Request) apierr.Code {
	who, code := h.observe(r)
	if code == apierr.OK && !who.User.IsAdmin() {
		return apierr.ForbiddenRole
	}
	return code
}

// streamLog looks for new records twice a second, until the browser disconnects, the session or its right ends, or the node stops.
func (h handlers) streamLog(to eventStream, r *http.Request, after int64, f logtail.Filter) {
	ticker := time.NewTicker(liveCheck)
	defer ticker.Stop()
	for first := true; ; first = false {
		records, newest, missed := h.deps.Tail.Since(after, f)
		after = newest
		if (first || len(records) > 0 || missed > 0) && !to.send(logMessage(records, newest, missed)) {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C:
			if h.mayReadLog(r) != apierr.OK || h.draining() {
				return
			}
		}
	}
}

func logMessage(records []logtail.Record, newest, missed int64) []byte {
	page := LogRecords{Records: make([]LogRecord, len(records)), Missed: missed}
	for i := range records {
		x := &records[i]
		page.Records[i] = LogRecord{x.Seq, x.At.UTC(), x.Level.String(), x.Message, append([]logtail.Attribute{}, x.Attributes...)}
	}
	return append(fmt.Appendf(nil, "id: %d\n", newest), message("log", page)...)
}
