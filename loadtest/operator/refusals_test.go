package main

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// scripted is a probe of a listener that refuses a credential some time after it ended.
func scripted(name string, ended *atomic.Int64, late time.Duration) probe {
	return probe{name, func(context.Context) (int, error) {
		if at := ended.Load(); at != 0 && time.Now().UnixNano() >= at+int64(late) {
			return 401, nil
		}
		return 200, nil
	}}
}

// Each probe gets its own time from the sending of what ends the credential.
func TestRefusalsAreMeasuredOfEachListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int64
		probes := []probe{scripted("soon", &ended, 0), scripted("later", &ended, 300*time.Millisecond)}
		took, err := measureRefusals(t.Context(), probes, func(context.Context) error {
			time.Sleep(20 * time.Millisecond) // The request itself counts, too.
			ended.Store(time.Now().UnixNano())
			time.Sleep(20 * time.Millisecond)
			return nil
		})
		if err != nil || len(took) != 2 {
			t.Fatal(took, err)
		}
		for i, want := range []time.Duration{20 * time.Millisecond, 320 * time.Millisecond} {
			if took[i] < want || took[i] > want+2*askEvery {
				t.Errorf("%s was refused after %v, want %v", probes[i].name, took[i], want)
			}
		}
	})
}

// A credential that is never refused, that is accepted again, and an ending that fails are errors, not samples.
func TestWhatIsNotRefusedIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fine := func(context.Context) error { return nil }
		always := probe{"always", func(context.Context) (int, error) { return 200, nil }}
		if _, err := measureRefusals(t.Context(), []probe{always}, fine); err == nil || !strings.Contains(err.Error(), "always") {
			t.Errorf("a credential that is never refused: %v", err)
		}
		answers := 0
		again := probe{"again", func(context.Context) (int, error) {
			answers++
			if answers == 2 {
				return 401, nil
			}
			return 200, nil
		}}
		if _, err := measureRefusals(t.Context(), []probe{again}, fine); err == nil || !strings.Contains(err.Error(), "answered 200") {
			t.Errorf("a credential that is accepted again: %v", err)
		}
		broken := probe{"broken", func(context.Context) (int, error) { return 500, nil }}
		if _, err := measureRefusals(t.Context(), []probe{broken}, fine); err == nil || !strings.Contains(err.Error(), "500") {
			t.Errorf("a listener that fails: %v", err)
		}
		fault := errors.New("the node does not answer")
		if _, err := measureRefusals(t.Context(), []probe{always}, func(context.Context) error { return fault }); !errors.Is(err, fault) {
			t.Errorf("an ending that fails: %v", err)
		}
	})
}

// A node that cannot know what has ended answers 503; that is waited for, and counts as neither.
func TestANodeThatDoesNotKnowIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []int{503, 200, 503, 401, 401}
		p := probe{"n", func(context.Context) (int, error) {
			status := answers[0]
			answers = answers[1:]
			return status, nil
		}}
		if took, err := measureRefusals(t.Context(), []probe{p}, func(context.Context) error { return nil }); err != nil || took[0] < askEvery {
			t.Errorf("%v, %v", took, err)
		}
	})
}
