// Package sinks sends what the raft groups of a node charge, give back and credit to a message broker: Kafka or NATS JetStream, at
// least once, within about a second of the commit. DESIGN.md says what is promised, SCHEMA.md has the messages.
//
// The leader of a group follows the group's journal and its credited items from a cursor, which is a replicated record. It moves
// the cursor when the broker has acknowledged what it sent, so another leader goes on where the last one stopped, and the journal is
// the queue while the broker is away.
package sinks

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
)

const (
	// every is how often a group is asked for what is new.
	every = time.Second
	// waitFirst and waitMax are the pauses after the first failure and after many.
	waitFirst = time.Second
	waitMax   = time.Minute
	// publishTimeout is how long a broker may take to acknowledge a batch.
	publishTimeout = 15 * time.Second
)

// BOUND: what a sink holds of a group in memory, and asks a broker to store at once.
const (
	batchMax      = 1_000
	batchBytesMax = 1 << 20
	// roundBatches is how many batches of the journal are sent before the cursor is stored. A stop repeats at most these.
	roundBatches = 8
)

// Broker stores messages. It is used by several goroutines at the same time.
type Broker interface {
	// Publish returns nil when the broker has acknowledged all messages as durable. After an error any of them may be stored.
	Publish(ctx context.Context, batch []Message) error
	// Close ends a Publish that waits, with an error.
	Close()
}

// Sink sends what the groups that this node leads record to one broker. All fields are required.
type Sink struct {
	Name   string // Name of the broker in the log and in metrics.
	Cursor string // Name of the cursors: those of two sinks differ.
	Broker Broker
	Store  *store.Store
	Groups []ids.Group // Those with campaigns.
	Leads  func(ids.Group) bool
	// Latest makes a sink without a cursor begin with what is recorded from then on, instead of with all that is stored.
	Latest bool
	Now    func() time.Time
	Log    *slog.Logger

	limit          int // BOUND: messages of a batch; 0: batchMax.
	sent, failures atomic.Uint64
	mu             sync.Mutex        // LOCKS: it guards lags.
	lags           map[ids.Group]lag // Of the groups that this node leads.
}

// lag is how far a sink is behind in a group.
type lag struct {
	lines uint64
	age   time.Duration
}

// Stats are the counts of a sink. Totals only grow.
type Stats struct {
	Sent, Failures uint64
	// Lines is the number of journal lines that the sink has not passed, of all groups that this node leads; Lag is the age of the
	// oldest of them, or of an item that was credited and could not be sent. Both are 0 when this node leads none.
	Lines uint64
	Lag   time.Duration
}

// Stats returns the counts.
func (s *Sink) Stats() Stats {
	out := Stats{Sent: s.sent.Load(), Failures: s.failures.Load()}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lags { // In any order: a sum and the largest.
		out.Lines += l.lines
		out.Lag = max(out.Lag, l.age)
	}
	return out
}

// Run sends until the context ends. Each group has a goroutine, so a group without a majority delays no other.
func (s *Sink) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, g := range s.Groups {
		all.Go(func() { s.follow(ctx, g) })
	}
	all.Wait()
}

// batchLimit is how many messages a batch has at most.
func (s *Sink) batchLimit() int { return cmp.Or(s.limit, batchMax) }

// follow does a round for a group every second, and the next one at once while there is more to send. After failures it waits longer.
func (s *Sink) follow(ctx context.Context, g ids.Group) {
	f := s.Follow(g)
	timer := time.NewTimer(every)
	defer timer.Stop()
	for failures := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		more, err := f.Round(ctx)
		pause := every
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			failures++
			pause = backOff(failures, rand.Float64()) //nolint:gosec // jitter, no secret.
			s.failures.Add(1)
			s.Log.Warn("sink_failed", slog.String("sink", s.Name), slog.Int("group", int(g)), slog.Any("err", err),
				slog.Duration("next_attempt_in", pause), slog.String("effect", "nothing is lost: the sink goes on where its cursor is"))
		case more:
			failures, pause = 0, 0
		default:
			failures = 0
		}
		timer.Reset(pause)
	}
}

// backOff is the pause after a number of failures in a row: it doubles up to waitMax, and is shortened by up to a half at random, so that
// the groups of all nodes do not return at the same moment. random is in [0, 1).
func backOff(failures int, random float64) time.Duration {
	const doublings = 6 // 64 s exceed waitMax.
	full := min(waitMax, waitFirst<<min(failures-1, doublings))
	return full - time.Duration(random*float64(full)/2)
}

// setLag records how far the sink is behind in a group; the zero lag for one that another node leads.
func (s *Sink) setLag(g ids.Group, l lag) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lags == nil {
		s.lags = map[ids.Group]lag{}
	}
	s.lags[g] = l
}
