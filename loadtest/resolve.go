package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gavel-ads/gavel/loadtest/scenarios"
)

// resolveMax bounds how long one unknown outcome is repeated.
const resolveMax = time.Minute

// resolveUnknown repeats every body of unknown outcome, unchanged and with the same event ids, until it is acknowledged. It returns how many
// were. A refusal of a body that may have been applied is an error, because it breaks the promise that repeating is always safe.
func resolveUnknown(ctx context.Context, dial func() (scenarios.Poster, error), t *tally) (int, error) {
	c, err := dial()
	if err != nil {
		return 0, err
	}
	defer c.Close()
	for i := range t.unknown {
		req := &t.unknown[i]
		deadline := time.Now().Add(resolveMax)
		for wait := time.Millisecond; ; wait = min(2*wait, time.Second) {
			status, answer, err := c.Post(req.Path, req.Body)
			if err == nil && status == 200 {
				t.acknowledge(req)
				break
			}
			if err == nil && status/100 == 4 {
				return i, fmt.Errorf("a repeated body was refused with %d %.300s", status, answer)
			}
			if ctx.Err() != nil || time.Now().After(deadline) {
				return i, errors.Join(fmt.Errorf("the outcome of a body of events is still unknown; the last status was %d", status), err)
			}
			time.Sleep(wait)
		}
	}
	return len(t.unknown), nil
}
