package proposal

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// gatedRaft answers an entry only when the test says so. The result of each command is the command.
type gatedRaft struct {
	mu   sync.Mutex
	sent []*gatedFuture
}

type gatedFuture struct {
	data []byte
	cmds [][]byte
	gate chan error
}

func (g *gatedRaft) Apply(data []byte, _ time.Duration) raft.ApplyFuture {
	cmds, err := SplitEntry(nil, data)
	if err != nil {
		panic(err)
	}
	f := &gatedFuture{data: data, cmds: cmds, gate: make(chan error, 1)}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sent = append(g.sent, f)
	return f
}

func (f *gatedFuture) Error() error  { return <-f.gate }
func (f *gatedFuture) Index() uint64 { return 0 }
func (f *gatedFuture) Response() any { return f.cmds }

// sizes are the numbers of commands of the entries sent so far.
func (g *gatedRaft) sizes() (n []int) {
	synctest.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range g.sent {
		n = append(n, len(f.cmds))
	}
	return n
}

func (g *gatedRaft) answer(i int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sent[i].gate <- err
}

// store makes the log store entry i.
func (g *gatedRaft) store(b *Batcher, i int) {
	g.mu.Lock()
	data := g.sent[i].data
	g.mu.Unlock()
	b.Stored([]*raft.Log{{Type: raft.LogNoop}, {Data: bytes.Clone(data)}, {Data: data}}) // Raft's own and another's come too.
}

type callers struct {
	wg   sync.WaitGroup
	mu   sync.Mutex
	errs map[string]error
}

// call proposes n commands of a size from n goroutines.
func (c *callers) call(t *testing.T, b *Batcher, n, size int, name string) {
	t.Helper()
	for i := range n {
		cmd := fmt.Appendf(nil, "%s-%d-", name, i)
		cmd = append(cmd, make([]byte, max(0, size-len(cmd)))...)
		c.wg.Go(func() {
			result, _, err := b.Propose(t.Context(), cmd)
			if err == nil && !bytes.Equal(result, cmd) {
				t.Errorf("caller of %.20q got the result of %.20q", cmd, result)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.errs == nil {
				c.errs = map[string]error{}
			}
			c.errs[fmt.Sprintf("%s-%d", name, i)] = err
		})
		synctest.Wait()
	}
}

func wantSizes(t *testing.T, g *gatedRaft, want ...int) {
	t.Helper()
	if got := g.sizes(); !slices.Equal(got, want) {
		t.Fatalf("entries of %v commands were sent, want %v", got, want)
	}
}

// The batching rule, step by step. No step waits for time: in the bubble only the log and answers change anything.
func TestBatchingRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &gatedRaft{}
		b := New(r, func(error) {})
		var c callers
		c.call(t, b, 1, 0, "first")
		wantSizes(t, r, 1) // Nothing in flight: sent at once.
		c.call(t, b, 10, 0, "second")
		time.Sleep(time.Hour)
		wantSizes(t, r, 1) // Collected, however much time passes.
		r.store(b, 0)
		wantSizes(t, r, 1, 10) // The disk is free: sent while the first entry is applied.
		c.call(t, b, 3, 0, "third")
		r.store(b, 1)
		wantSizes(t, r, 1, 10) // Two entries overlap, no more.
		c.call(t, b, EntryCommandsMax+2, 0, "fourth")
		wantSizes(t, r, 1, 10, EntryCommandsMax) // A full entry does not wait.
		r.answer(0, nil)
		wantSizes(t, r, 1, 10, EntryCommandsMax) // Two are unanswered still, and one is not stored.
		r.answer(1, nil)
		wantSizes(t, r, 1, 10, EntryCommandsMax)
		r.answer(2, nil) // An answer comes after the log, whoever tells.
		wantSizes(t, r, 1, 10, EntryCommandsMax, 5)
		r.answer(3, nil)
		wantSizes(t, r, 1, 10, EntryCommandsMax, 5)
		c.call(t, b, 1, 0, "fifth")
		wantSizes(t, r, 1, 10, EntryCommandsMax, 5, 1)
		r.answer(4, nil)
		c.wg.Wait()
		b.Close()
	})
}

func TestEntriesAreBoundedByBytesAndNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &gatedRaft{}
		b := New(r, func(error) {})
		var c callers
		c.call(t, b, 1, 0, "first")
		c.call(t, b, 30, 20<<10, "large") // Three fit into 64 KB.
		if got := r.sizes(); !slices.Equal(got, []int{1, 3, 3, 3}) {
			t.Fatalf("%v sent, want at most %d entries with raft", got, OutstandingEntriesMax)
		}
		for i := range 11 {
			r.sizes()
			r.answer(i, nil)
		}
		c.wg.Wait()
		b.Close()
	})
}

func TestFullQueueRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &gatedRaft{}
		b := New(r, func(error) {})
		ctx, cancel := context.WithCancel(t.Context())
		cmd := make([]byte, CommandBytesMax)
		var wg sync.WaitGroup
		var mu sync.Mutex
		outcomes := map[error]int{}
		total := QueueBytesMax/CommandBytesMax + OutstandingEntriesMax + 10
		for range total {
			wg.Go(func() {
				_, _, err := b.Propose(ctx, cmd)
				mu.Lock()
				defer mu.Unlock()
				for _, kind := range []error{ErrOverloaded, ErrUnknown} {
					if errors.Is(err, kind) {
						outcomes[kind]++
					}
				}
			})
			synctest.Wait()
		}
		mu.Lock()
		refused := outcomes[ErrOverloaded]
		mu.Unlock()
		if refused == 0 || b.queuedBytes > QueueBytesMax {
			t.Errorf("%d of %d refused with %d bytes queued", refused, total, b.queuedBytes)
		}
		cancel() // A caller that gives up does not know whether its command is applied.
		wg.Wait()
		if outcomes[ErrUnknown] != total-refused {
			t.Errorf("%d unknown, want %d", outcomes[ErrUnknown], total-refused)
		}
		go b.Close() // Drops queued commands and waits for those that Raft has.
		for i := range r.sizes() {
			r.answer(i, nil)
		}
	})
}

// Each error of Raft becomes "not applied" or "unknown", and never the first when the second is possible.
func TestRaftErrorsAreMapped(t *testing.T) {
	for err, want := range map[error]error{
		raft.ErrNotLeader:                    ErrNotLeader,
		raft.ErrLeadershipTransferInProgress: ErrNotLeader,
		raft.ErrLeadershipLost:               ErrUnknown,
		raft.ErrRaftShutdown:                 ErrUnknown,
		raft.ErrAbortedByRestore:             ErrUnknown,
		raft.ErrEnqueueTimeout:               ErrUnknown,
		errors.New("disk"):                   ErrUnknown,
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &gatedRaft{}
			b := New(r, func(error) {})
			var c callers
			c.call(t, b, 1, 0, "a")
			r.sizes()
			r.answer(0, err)
			c.wg.Wait()
			if got := c.errs["a-0"]; !errors.Is(got, want) {
				t.Errorf("%v: got %v, want %v", err, got, want)
			}
			b.Close()
		})
	}
}

// Close finishes the commands that Raft has and refuses the rest.
func TestBatcherClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &gatedRaft{}
		b := New(r, func(error) {})
		var c callers
		c.call(t, b, 1, 0, "sent")
		c.call(t, b, 3, 0, "waiting")
		go b.Close()
		synctest.Wait()
		r.answer(0, nil)
		c.wg.Wait()
		if err := c.errs["sent-0"]; err != nil {
			t.Errorf("sent: %v", err)
		}
		if err := c.errs["waiting-2"]; !errors.Is(err, ErrClosed) {
			t.Errorf("waiting: %v", err)
		}
		if _, _, err := b.Propose(t.Context(), nil); !errors.Is(err, ErrClosed) {
			t.Errorf("late: %v", err)
		}
	})
}

func TestGoldenEntry(t *testing.T) {
	e := appendEntryHead(nil)
	e = appendCommand(e, []byte("a"))
	e = appendCommand(e, nil)
	e = appendCommand(e, []byte("bc"))
	sealEntry(e, 3)
	const want = "01" + "CRC" + "00000003" + "00000001" + "61" + "00000000" + "00000002" + "6263"
	if got := hex.EncodeToString(e); got[:2]+"CRC"+got[10:] != want || got[2:10] != "52c4f2ab" {
		t.Errorf("entry: %s", got)
	}
	cmds, err := SplitEntry(nil, e)
	if err != nil || len(cmds) != 3 || string(cmds[0]) != "a" || len(cmds[1]) != 0 || string(cmds[2]) != "bc" {
		t.Errorf("split: %q, %v", cmds, err)
	}
	for i := range e {
		bad := bytes.Clone(e)
		bad[i] ^= 4
		if _, err := SplitEntry(nil, bad); err == nil {
			t.Errorf("a flipped bit in byte %d is not noticed", i)
		}
		if _, err := SplitEntry(nil, e[:i]); err == nil {
			t.Errorf("%d bytes are an entry", i)
		}
	}
}
