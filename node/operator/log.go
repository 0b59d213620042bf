package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gavel-ads/gavel/node/apierr"
)

// LogRequest asks for the commands that follow an archive of the log.
type LogRequest struct {
	Cluster string            // The id of the cluster whose log the archive has; empty for a new archive.
	After   map[uint16]uint64 // The last entry of each group that the archive has; groups without one begin with the oldest.
	Local   bool              // The log as far as it is applied on the called node, without a read at the leaders.
}

// query returns the request as the query of its URL, which parseLogRequest reads.
func (r LogRequest) query() url.Values {
	q := url.Values{}
	var after []string
	for group, index := range r.After {
		after = append(after, fmt.Sprintf("%d:%d", group, index))
	}
	if r.Cluster != "" {
		q.Set("cluster", r.Cluster)
	}
	if len(after) > 0 {
		q.Set("after", strings.Join(after, ","))
	}
	if r.Local {
		q.Set("local", "true")
	}
	return q
}

// positionsMax bounds the positions of a request. BOUND: a cluster has fewer groups.
const positionsMax = 1024

func parseLogRequest(q url.Values) (LogRequest, error) {
	r := LogRequest{Cluster: q.Get("cluster"), Local: q.Get("local") == "true", After: map[uint16]uint64{}}
	if q.Get("after") == "" {
		return r, nil
	}
	for text := range strings.SplitSeq(q.Get("after"), ",") {
		number, end, found := strings.Cut(text, ":")
		group, badGroup := strconv.ParseUint(number, 10, 16)
		index, badIndex := strconv.ParseUint(end, 10, 64)
		if !found || badGroup != nil || badIndex != nil || len(r.After) == positionsMax {
			return r, fmt.Errorf("%w: after is %.60q; it is GROUP:ENTRY,… with at most %d groups", errRequest, text, positionsMax)
		}
		r.After[uint16(group)] = index
	}
	return r, nil
}

// serveLog streams a part of the log, like a backup.
func (h handler) serveLog(w http.ResponseWriter, r *http.Request) {
	request, err := parseLogRequest(r.URL.Query())
	if err != nil {
		h.refuse(w, apierr.BadRequest, err)
		return
	}
	h.stream(w, r, func(out io.Writer) error { return h.cluster.ArchiveLog(r.Context(), out, request) })
}

// ArchiveLog writes the part of the log that follows an archive to w. It returns an error that IsRefused when the called
// node does not have what follows, or is of another cluster. After an error the written bytes are useless.
func (c Client) ArchiveLog(ctx context.Context, w io.Writer, r LogRequest) error {
	path := "/log"
	if q := r.query(); len(q) > 0 {
		path += "?" + q.Encode()
	}
	return c.download(ctx, path, "the part of the log", w)
}

// IsRefused reports whether a node answered that it will refuse the request until the request or the cluster is changed.
func IsRefused(err error) bool {
	_, is := errors.AsType[refused](err)
	return is
}
