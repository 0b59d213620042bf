package sinks_test

import (
	"context"
	"errors"
	"sync"

	"github.com/gavel-ads/gavel/node/sinks"
	"github.com/gavel-ads/gavel/node/sinks/sinkstest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
)

var errAway = errors.New("the broker does not answer")

// stop says how a call fails.
type stop string

const (
	before stop = "before its effect"
	half   stop = "after half of its effect"
	after  stop = "after its effect"
)

var stops = []stop{before, half, after}

// memory is a broker in memory that can fail.
type memory struct {
	mu       sync.Mutex
	received []sinkstest.Received
	calls    int
	failAt   int // The call that fails; 0: none.
	how      stop
	away     bool // Every call fails.
}

func (m *memory) Publish(_ context.Context, batch []sinks.Message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	if m.away {
		return errAway
	}
	stored := len(batch)
	if m.calls == m.failAt {
		stored = map[stop]int{half: len(batch) / 2, after: len(batch)}[m.how]
	}
	for _, x := range batch[:stored] {
		m.received = append(m.received, sinkstest.Received{ID: x.ID, Body: x.Body})
	}
	if m.calls == m.failAt {
		return errAway
	}
	return nil
}

func (m *memory) Close() {}

func (m *memory) setAway(away bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.away, m.calls = away, 0
}

func (m *memory) counts() (calls, received int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls, len(m.received)
}

// groups is embedded under another name than its method.
type groups = store.Groups

// writes are groups of which a write can fail.
type writes struct {
	groups
	calls  int
	failAt int
	how    stop // before or after.
}

func (w *writes) ProposeAt(ctx context.Context, g ids.Group, cmd []byte) (result []byte, index uint64, err error) {
	w.calls++
	fails := w.calls == w.failAt
	if fails && w.how == before {
		return nil, 0, store.ErrUnavailable
	}
	result, index, err = w.groups.ProposeAt(ctx, g, cmd)
	if fails {
		return nil, 0, store.ErrUnavailable
	}
	return result, index, err
}
