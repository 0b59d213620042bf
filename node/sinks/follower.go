package sinks

import (
	"context"
	"errors"
	"time"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Follower follows one group for a sink. It is not safe for concurrent use.
//
// INVARIANT: the stored cursor is never after something that the broker has not acknowledged. at may be ahead of the stored cursor
// only within a round.
type Follower struct {
	sink  *Sink
	group ids.Group

	known   bool // at is the stored cursor.
	at      store.SinkCursor
	credits creditScan
	returns returnScan
	batch   []Message
	bytes   int // Of the bodies in batch.
}

// Follow returns a follower of a group. Run makes its own.
func (s *Sink) Follow(g ids.Group) *Follower { return &Follower{sink: s, group: g} }

// Round sends some of what is new, if this node leads the group, and stores the cursor. It reports whether there is more. After an error
// a later Round goes on where the cursor is.
func (f *Follower) Round(ctx context.Context) (more bool, err error) {
	s := f.sink
	if !s.Leads(f.group) {
		f.known = false
		s.setLag(f.group, lag{})
		return false, nil
	}
	if !f.known {
		if err := f.load(ctx); err != nil {
			return false, err
		}
	}
	before := f.at
	more, sending := f.sendLines(ctx)
	if sending == nil {
		var items bool
		items, sending = f.sendCredits(ctx)
		more = more || items
	}
	if sending == nil {
		var items bool
		items, sending = f.sendReturns(ctx)
		more = more || items
	}
	if f.at != before { // What was acknowledged before a failure is not sent again.
		if err := f.store(ctx); err != nil {
			return false, errors.Join(sending, err)
		}
	}
	return more && sending == nil, sending
}

// load reads the stored cursor. A sink without one gets one at once: if the next leader began anew with what is recorded from then on, it
// would skip what came in between.
func (f *Follower) load(ctx context.Context) error {
	s := f.sink
	at, err := s.Store.SinkCursor(ctx, s.Cursor, f.group)
	if err == nil {
		f.begin(at)
		return nil
	}
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	at = store.SinkCursor{Line: 1}
	if s.Latest {
		if at, err = s.Store.SinkStart(f.group); err != nil {
			return err
		}
	}
	f.begin(at)
	return f.store(ctx)
}

func (f *Follower) begin(at store.SinkCursor) {
	f.known, f.at, f.credits, f.returns = true, at, creditScan{}, returnScan{}
}

// store stores the cursor. After an error it is read again before anything else is sent.
func (f *Follower) store(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	err := f.sink.Store.PutSinkCursor(ctx, f.sink.Cursor, f.group, &f.at)
	f.known = err == nil
	return err
}

// storeTimeout bounds the write of a cursor, which is finished although the node stops, so that the next leader repeats less.
const storeTimeout = 5 * time.Second

// sendLines sends charges and reversals of the journal and moves the cursor behind them.
func (f *Follower) sendLines(ctx context.Context) (more bool, err error) {
	for range roundBatches {
		step, err := f.sink.Store.SinkLines(f.group, f.at.Line, f.sink.batchLimit())
		if err != nil {
			return false, err
		}
		f.sink.setLag(f.group, lagOf(f.at.Line, step.First, &step))
		for i := range step.Lines {
			if err := f.add(ctx, ofLine(f.group, &step.Lines[i])); err != nil {
				return false, err
			}
		}
		if err := f.flush(ctx); err != nil {
			return false, err
		}
		f.at.Line = step.Next
		f.sink.setLag(f.group, lagOf(step.Next, step.End, &step))
		if step.Next > step.Last {
			return false, nil
		}
	}
	return true, nil
}

// lagOf is how far a sink is behind that has not passed a line, of about the given time.
func lagOf(line uint64, millis int64, step *store.SinkStep) lag {
	if line > step.Last {
		return lag{}
	}
	return lag{step.Last + 1 - line, time.Duration(step.Clock-millis) * time.Millisecond}
}

// add adds a message to the batch, and sends the batch when it is full.
func (f *Follower) add(ctx context.Context, m Message) error {
	f.batch, f.bytes = append(f.batch, m), f.bytes+len(m.Body)
	if len(f.batch) < f.sink.batchLimit() && f.bytes < batchBytesMax {
		return nil
	}
	return f.flush(ctx)
}

// flush sends the batch. Whatever comes of it, the batch is empty afterwards: after an error it is read again.
func (f *Follower) flush(ctx context.Context) error {
	batch := f.batch
	f.batch, f.bytes = f.batch[:0], 0
	if len(batch) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	if err := f.sink.Broker.Publish(ctx, batch); err != nil {
		return err
	}
	f.sink.sent.Add(uint64(len(batch)))
	return nil
}
