package importer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Bounds of a request.
const (
	requestTimeout = time.Minute
	answerMax      = 1 << 20 // BOUND: bytes read of an answer. The longest that is used is a list of 50 violations.
	attempts       = 10      // BOUND: times that a request is sent before the import stops.
	firstWait      = 250 * time.Millisecond
	longestWait    = 10 * time.Second // BOUND: time before a request is repeated.
)

// api calls the management API of a node.
type api struct {
	base, key string
	client    http.Client
	wait      func(context.Context, time.Duration) error
}

func newAPI(base, key string) *api {
	base = strings.TrimRight(base, "/")
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	return &api{base: base, key: key, client: http.Client{Timeout: requestTimeout}, wait: wait}
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// send sends a request until the node accepts it or refuses it for its content. An error says that the import cannot go on.
func (a *api) send(ctx context.Context, method, path, repeatKey string, body []byte) (answer, error) {
	pause := firstWait
	for attempt := 1; ; attempt++ {
		got, err := a.once(ctx, method, path, repeatKey, body)
		if ctx.Err() != nil {
			return answer{}, fmt.Errorf("interrupted: %w; the same command continues", context.Cause(ctx))
		}
		switch {
		case err == nil && (got.accepted() || got.refusesContent()):
			return got, nil
		case err == nil && !got.temporary():
			return answer{}, fmt.Errorf("the node answered %s", got)
		case attempt == attempts && err == nil:
			return answer{}, fmt.Errorf("the node answered %s, %d times; the same command continues", got, attempts)
		case attempt == attempts:
			return answer{}, fmt.Errorf("the node does not answer, %d times: %w; the same command continues", attempts, err)
		}
		if err := a.wait(ctx, min(longestWait, max(pause, got.retryAfter))); err != nil {
			return answer{}, fmt.Errorf("interrupted: %w; the same command continues", err)
		}
		pause *= 2
	}
}

func (a *api) once(ctx context.Context, method, path, repeatKey string, body []byte) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Authorization", "Bearer "+a.key)
	r.Header.Set("Content-Type", "application/json")
	if repeatKey != "" {
		r.Header.Set("Idempotency-Key", repeatKey)
	}
	resp, err := a.client.Do(r)
	if err != nil {
		return answer{}, err
	}
	content, err := io.ReadAll(io.LimitReader(resp.Body, answerMax))
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return answer{}, err
	}
	got := answer{status: resp.StatusCode}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		got.retryAfter = time.Duration(seconds) * time.Second
	}
	if !got.accepted() && json.Unmarshal(content, &got.body) != nil {
		got.body = refusal{} // It is not Gavel's: a proxy's, for example.
	}
	return got, nil
}

// answer is the answer to a request.
type answer struct {
	status     int
	retryAfter time.Duration
	body       refusal
}

// refusal is the body of an answer that is no success, in either of the two forms.
type refusal struct {
	ErrCode string `json:"errCode"`
	Message string `json:"message"`
	Detail  []struct {
		Loc []string `json:"loc"`
		Msg string   `json:"msg"`
	} `json:"detail"`
}

func (a *answer) accepted() bool { return a.status >= 200 && a.status < 300 }

// temporary reports whether the same request may be accepted later.
func (a *answer) temporary() bool {
	return a.status >= 500 || a.status == http.StatusTooManyRequests || a.status == http.StatusRequestTimeout
}

// refusesContent reports whether the node refused a row, and would accept others. A 404 without a code is no answer of
// Gavel; one with a code names a vendor or a product that does not exist.
func (a *answer) refusesContent() bool {
	switch a.status {
	case http.StatusNotFound:
		return a.body.ErrCode != ""
	case http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

func (a answer) String() string {
	s := strconv.Itoa(a.status) + " " + http.StatusText(a.status)
	if a.body.Message != "" {
		s += ": " + a.body.Message
	}
	return s
}

// faultsByRow returns the faults that the answer names for rows, by the row's position in the request.
func (a *answer) faultsByRow(list string) map[int][]fault {
	found := map[int][]fault{}
	for _, d := range a.body.Detail { // body, products, 7, price
		if len(d.Loc) < 3 || d.Loc[1] != list {
			continue
		}
		if i, err := strconv.Atoi(d.Loc[2]); err == nil {
			found[i] = append(found[i], fault{Column: strings.Join(d.Loc[3:], "."), Message: d.Msg})
		}
	}
	return found
}

// faults returns the faults of the only row of a request; at least one. List is the member of the body that holds it, or "".
func (a *answer) faults(list string) (found []fault) {
	for _, d := range a.body.Detail {
		loc := d.Loc
		switch {
		case list != "" && len(loc) > 3:
			loc = loc[3:]
		case len(loc) > 0:
			loc = loc[1:]
		}
		found = append(found, fault{Column: strings.Join(loc, "."), Message: d.Msg})
	}
	if len(found) == 0 {
		found = append(found, fault{Message: cmp.Or(a.body.Message, a.String())})
	}
	return found
}
