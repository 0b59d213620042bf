package proposal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

const (
	// EntryBytesMax bounds what is packed into one Raft entry, in bytes. BOUND: a larger entry delays heartbeats, which
	// share Raft's main loop.
	EntryBytesMax = 64 << 10
	// CommandBytesMax is the largest command, in bytes. One that does not fit into a packed entry gets an entry of its
	// own: a change that is all or nothing must be one command, and the largest request of the management API has 8
	// MiB.
	CommandBytesMax = 12 << 20
	// EntryCommandsMax bounds the commands of an entry, and so the pause between two answers.
	EntryCommandsMax = 1_000
	// OutstandingEntriesMax bounds the entries of a group that are not yet answered. BOUND: more would add latency, not
	// throughput.
	OutstandingEntriesMax = 4
	// OverlappingEntriesMax is up to how many unanswered entries an entry is sent that is not full: one is applied or
	// replicated while the log stores the other. BOUND: more would be smaller entries, each of which costs a disk write.
	OverlappingEntriesMax = 2
	// QueueCommandsMax bounds the commands that wait in a group. BOUND: beyond it callers are refused at once, because
	// a client that waits longer than its own timeout only asks twice.
	QueueCommandsMax = 65_536
	// QueueBytesMax bounds the bytes of the commands that wait in a group.
	QueueBytesMax = 32 << 20
)

// applier is the one method of Raft that the batcher needs.
type applier interface {
	Apply(cmd []byte, timeout time.Duration) raft.ApplyFuture
}

// Batcher packs the commands of many callers into few Raft entries.
//
// The rule: a command is sent at once when the log of this node has stored everything that was sent before; otherwise
// commands collect until it has, or until an entry is full. So the disk never waits for the state machine, nor for
// another member. There is no timer: a single caller pays one disk write and no more, and the slower the disk, the
// larger the batches. (TigerBeetle batches the same way; Juju removed its time windows again.)
//
// Whoever makes an entry due gives it to Raft itself (a caller that completes it, or a call of Stored), and one goroutine
// waits for the answers: an entry wakes no goroutine on its way to the log but Raft's main loop.
//
// INVARIANT: at most OutstandingEntriesMax entries are with Raft, and more than OverlappingEntriesMax only if they are
// full. The open entry collects; sealed ones are full and wait until fewer are with Raft.
// LOCKS: mu is held while an entry is given to Raft, also in Raft's main loop, which takes entries out of a queue. The queue
// has space for 128 (raft.Config.MaxAppendEntries), so the call never waits.
// OWNERSHIP: an entry's bytes are never reused, because Raft and the log's cached tail keep them.
type Batcher struct {
	onAnswer func(error)
	raft     applier

	mu          sync.Mutex
	open        *entry
	sealed      []*entry
	withRaft    []*entry    // Given to Raft and not answered, in this order.
	sent        chan *entry // The same entries, for the goroutine that waits for answers.
	queued      int         // Commands not yet with Raft.
	queuedBytes int
	closed      bool
	answers     sync.WaitGroup

	entries        atomic.Uint64
	commands       atomic.Uint64
	bytes          atomic.Uint64
	refused        atomic.Uint64
	unknown        atomic.Uint64
	proposeLatency latency // Time of an entry from the call of Raft until it is applied here.
}

type entry struct {
	stored  bool // The log of this node has it.
	began   time.Time
	answer  raft.ApplyFuture
	data    []byte
	callers []chan<- outcome
}

type outcome struct {
	result []byte
	index  uint64 // Index of the command's entry.
	err    error
}

// New returns a batcher and starts its goroutine, which Close ends. answered is called with what Raft answers to each
// entry, one at a time.
func New(r applier, answered func(error)) *Batcher {
	b := &Batcher{raft: r, onAnswer: answered, sent: make(chan *entry, OutstandingEntriesMax)}
	b.answers.Go(b.passAnswers)
	return b
}

// Propose queues a copy of cmd and waits for its result and the index of its entry. Errors are ErrTooLarge,
// ErrOverloaded, ErrClosed, ErrNotLeader and ErrUnknown; a ctx that has already ended is returned as its error.
func (b *Batcher) Propose(ctx context.Context, cmd []byte) (result []byte, index uint64, err error) {
	if len(cmd) > CommandBytesMax {
		return nil, 0, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(cmd), CommandBytesMax)
	}
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	answer := make(chan outcome, 1)
	if err := b.enqueue(cmd, answer); err != nil {
		return nil, 0, err
	}
	select {
	case o := <-answer:
		return o.result, o.index, o.err
	case <-ctx.Done():
		b.unknown.Add(1)
		return nil, 0, fmt.Errorf("%w: %w", ErrUnknown, ctx.Err())
	}
}

func (b *Batcher) enqueue(cmd []byte, answer chan<- outcome) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return ErrClosed
	}
	if b.queued >= QueueCommandsMax || b.queuedBytes+len(cmd) > QueueBytesMax {
		b.refused.Add(1)
		return ErrOverloaded
	}
	if b.open != nil && len(b.open.data)+commandHead+len(cmd) > EntryBytesMax {
		b.seal()
	}
	if b.open == nil {
		b.open = &entry{data: appendEntryHead(make([]byte, 0, entryHeadBytes+commandHead+len(cmd)))}
	}
	b.open.data = appendCommand(b.open.data, cmd)
	b.open.callers = append(b.open.callers, answer)
	b.queued++
	b.queuedBytes += len(cmd)
	if len(b.open.callers) == EntryCommandsMax {
		b.seal()
	}
	b.sendIfDue()
	return nil
}

// seal ends the open entry and gives it to Raft, or lets it wait for its turn. REQUIRES: mu is held, and there is an open
// entry.
func (b *Batcher) seal() {
	sealEntry(b.open.data, len(b.open.callers))
	b.sealed = append(b.sealed, b.open)
	b.open = nil
	b.sendSealed()
}

// sendSealed gives sealed entries to Raft, as many as may be with it. REQUIRES: mu is held.
func (b *Batcher) sendSealed() {
	for len(b.sealed) > 0 && len(b.withRaft) < OutstandingEntriesMax {
		e := b.sealed[0]
		b.sealed[0] = nil
		b.sealed = b.sealed[1:]
		b.queued -= len(e.callers)
		b.queuedBytes -= len(e.data) - entryHeadBytes - commandHead*len(e.callers)
		b.entries.Add(1)
		b.commands.Add(uint64(len(e.callers)))
		b.bytes.Add(uint64(len(e.data)))
		b.withRaft = append(b.withRaft, e)
		e.began = time.Now()
		e.answer = b.raft.Apply(e.data, 0)
		b.sent <- e // It has space for all that are with Raft.
	}
}

// sendIfDue sends the open entry if it is to go although it is not full. REQUIRES: mu is held.
func (b *Batcher) sendIfDue() {
	if b.open == nil || len(b.sealed) > 0 || len(b.withRaft) >= OverlappingEntriesMax {
		return
	}
	for _, e := range b.withRaft {
		if !e.stored {
			return
		}
	}
	b.seal()
}

// Stored tells the batcher that the log of this node has stored entries, of this batcher or others, and that Raft can store
// further ones at once. It may be told more than once.
func (b *Batcher) Stored(logs []*raft.Log) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.withRaft) == 0 {
		return
	}
	for _, l := range logs {
		for _, e := range b.withRaft {
			if len(l.Data) > 0 && &l.Data[0] == &e.data[0] { // Raft passes on the bytes that it was given.
				e.stored = true
			}
		}
	}
	b.sendIfDue()
}

// passAnswers waits for Raft's answers in the order of the entries and passes them to the callers. Raft answers in that
// order too, unless it refuses an entry, and then it answers all soon.
func (b *Batcher) passAnswers() {
	for e := range b.sent {
		err := e.answer.Error()
		b.onAnswer(err)
		b.entryDone()
		if err != nil {
			b.answerError(e, foldError(err))
			continue
		}
		b.proposeLatency.add(time.Since(e.began))
		results, _ := e.answer.Response().([][]byte)
		if len(results) != len(e.callers) {
			b.answerError(e, ErrUnknown) // The state machine skipped the entry, which cannot happen to one of this process.
			continue
		}
		index := e.answer.Index()
		for i, c := range e.callers {
			c <- outcome{result: results[i], index: index}
		}
	}
}

// entryDone removes the oldest entry that is with Raft, and sends what was collected meanwhile.
func (b *Batcher) entryDone() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.withRaft = slices.Delete(b.withRaft, 0, 1)
	b.sendSealed()
	b.sendIfDue()
}

func (b *Batcher) answerError(e *entry, err error) {
	if errors.Is(err, ErrUnknown) {
		b.unknown.Add(uint64(len(e.callers)))
	}
	for _, c := range e.callers {
		c <- outcome{err: err}
	}
}

// Status is what a batcher has done since it was made, and what it holds now.
type Status struct {
	Entries     uint64 // Entries given to Raft, and the commands and bytes in them.
	Commands    uint64
	Bytes       uint64
	Queued      int       // Commands that wait for an entry.
	Outstanding int       // Entries that are with Raft or ready to go.
	Refused     uint64    // Commands refused with ErrOverloaded.
	Unknown     uint64    // Commands whose outcome is unknown.
	Latency     Latencies // Time of an entry from the call of Raft until it was applied here.
}

// Status reports on the batcher. It takes its mutex for a moment.
func (b *Batcher) Status() Status {
	b.mu.Lock()
	queued, outstanding := b.queued, len(b.withRaft)+len(b.sealed)
	b.mu.Unlock()
	return Status{
		Entries: b.entries.Load(), Commands: b.commands.Load(), Bytes: b.bytes.Load(), Queued: queued, Outstanding: outstanding,
		Refused: b.refused.Load(), Unknown: b.unknown.Load(), Latency: b.proposeLatency.read(),
	}
}

// foldError maps Raft's error for an entry to ErrNotLeader (not applied) or ErrUnknown. With BatchApplyCh an enqueue
// timeout is unknown too, because the entry may be processed later (hashicorp/raft#561).
func foldError(err error) error {
	if errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrLeadershipTransferInProgress) {
		return ErrNotLeader
	}
	return ErrUnknown
}

// Close refuses new commands, answers those that did not reach Raft with ErrClosed, and waits for the others.
func (b *Batcher) Close() {
	b.mu.Lock()
	b.closed = true
	left := b.sealed
	if b.open != nil {
		left = append(left, b.open)
	}
	b.sealed, b.open = nil, nil
	close(b.sent) // Nothing is sent any more.
	b.mu.Unlock()
	for _, e := range left {
		b.answerError(e, ErrClosed)
	}
	b.answers.Wait()
}
