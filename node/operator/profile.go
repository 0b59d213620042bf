package operator

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ProfileBase is the path of the profiles; those of net/http/pprof have it, too.
const ProfileBase = "/debug/pprof"

// ProfileKinds are the profiles that a node makes of itself. cpu and trace take some seconds. All others are of the moment;
// allocs and mutex add up what has been since the start.
var ProfileKinds = []string{"cpu", "trace", "heap", "allocs", "goroutine", "mutex"}

// contentionEvery is of how many waits for a lock the profile mutex has one, on average. The others cost a random number.
const contentionEvery = 100

// SampleContention begins to record where goroutines wait for locks, for the profile mutex.
func SampleContention() { runtime.SetMutexProfileFraction(contentionEvery) }

const (
	profileSecondsDefault = 10
	// ProfileSecondsMax bounds a profile of some seconds. BOUND: below the write timeout of the management listener.
	ProfileSecondsMax = 30
)

// cpuAlias is the name of the CPU profile in net/http/pprof, which go tool pprof asks for.
const cpuAlias = "profile"

// serveProfile makes a profile of this process and answers with it, in the format of go tool pprof or go tool trace.
func (h handler) serveProfile(w http.ResponseWriter, r *http.Request) error {
	kind, seconds := r.PathValue("kind"), profileSecondsDefault
	if kind == cpuAlias {
		kind = "cpu"
	}
	if !slices.Contains(ProfileKinds, kind) {
		return fmt.Errorf("%w: the kinds of profiles are %s", errRequest, strings.Join(ProfileKinds, ", "))
	}
	if text := r.URL.Query().Get("seconds"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > ProfileSecondsMax {
			return fmt.Errorf("%w: seconds is a number from 1 to %d", errRequest, ProfileSecondsMax)
		}
		seconds = n
	}
	var made bytes.Buffer // So that an error can be answered as one. BOUND: a profile has at most some megabytes, a trace some tens.
	if err := makeProfile(r.Context(), &made, kind, time.Duration(seconds)*time.Second); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(made.Len()))
	_, _ = w.Write(made.Bytes()) // A profile, and the listener sets nosniff. The client may be gone.
	return nil
}

// makeProfile writes a profile of a kind. Only one profile of CPU and one trace can be made at a time.
func makeProfile(ctx context.Context, to io.Writer, kind string, length time.Duration) error {
	var begin func(io.Writer) error
	var end func()
	switch kind {
	case "cpu":
		begin, end = pprof.StartCPUProfile, pprof.StopCPUProfile
	case "trace":
		begin, end = trace.Start, trace.Stop
	default:
		return pprof.Lookup(kind).WriteTo(to, 0)
	}
	if err := begin(to); err != nil {
		return Refused(fmt.Errorf("another %s profile is being made: %w", kind, err))
	}
	defer end()
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Profile writes a profile of the called node. seconds is 0 for the default.
func (c Client) Profile(ctx context.Context, to io.Writer, kind string, seconds int) error {
	query := url.Values{}
	if seconds > 0 {
		query.Set("seconds", strconv.Itoa(seconds))
	}
	ctx, cancel := context.WithTimeout(ctx, changeTimeout+ProfileSecondsMax*time.Second)
	defer cancel()
	r, err := c.requestAt(ctx, http.MethodGet, ProfileBase+"/"+url.PathEscape(kind)+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // It was read.
	if resp.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(io.LimitReader(resp.Body, answerMax)) // The status is an error in any case.
		return refusal(resp.Status, answer)
	}
	_, err = io.Copy(to, resp.Body)
	return err
}
