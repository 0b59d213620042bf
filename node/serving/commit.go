package serving

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
)

// share is the part of an events request that one raft group stores.
type share struct {
	group    ids.Group
	records  []command.EventRecord
	cmd      []byte
	outcomes []command.EventResult // In the order of records, after a commit.
	err      error
}

// errAnswer reports that the state machine's answer does not match its command, which is a defect.
var errAnswer = errors.New("the answer does not fit the command")

// add appends a record to the share of its group.
func (es *eventScratch) add(group ids.Group, r *command.EventRecord) {
	i := 0
	for i < len(es.shares) && es.shares[i].group != group {
		i++
	}
	if i == len(es.shares) {
		es.grow(group)
	}
	s := &es.shares[i]
	es.positions = append(es.positions, recordPosition{i, len(s.records)})
	s.records = append(s.records, *r)
}

// grow adds an empty share for a group. It reuses the memory of an earlier request's share.
func (es *eventScratch) grow(group ids.Group) {
	if len(es.shares) < cap(es.shares) {
		es.shares = es.shares[:len(es.shares)+1]
	} else {
		es.shares = append(es.shares, share{})
	}
	s := &es.shares[len(es.shares)-1]
	s.group, s.err = group, nil
	s.records, s.cmd, s.outcomes = s.records[:0], s.cmd[:0], s.outcomes[:0]
}

// outcome returns the outcome of event i of the batch. REQUIRES: all shares are committed.
func (es *eventScratch) outcome(i int) command.Outcome {
	p := es.positions[i]
	return es.shares[p.share].outcomes[p.position].Outcome
}

// commitEvents proposes every share to its group, all at the same time, and waits for all of them.
//
// The wait does not end when the caller disconnects or the node begins to stop: the events are already proposed, and an
// answer costs less than a repetition. BOUND: the proposer bounds the wait.
func (c *Core) commitEvents(sc *Scratch, r *Request) apierr.Code {
	es := &sc.event
	var others sync.WaitGroup
	for i := range es.shares {
		s := &es.shares[i]
		c.removeUnsupported(s)
		s.cmd = command.AppendEvents(s.cmd, r.Now.UnixMilli(), &command.Events{
			Marketplace: es.marketplace, Records: s.records,
		})
		if i < len(es.shares)-1 {
			others.Go(func() { c.commit(s) })
		} else {
			c.commit(s) // The last share, usually the only one, needs no goroutine.
		}
	}
	others.Wait()

	result := apierr.OK
	for i := range es.shares {
		s := &es.shares[i]
		switch {
		case s.err == nil:
			sc.countEvents(s)
		case errors.Is(s.err, errAnswer):
			c.Log.Error("event_command_refused", slog.Int("group", int(s.group)), slog.Any("err", s.err))
			return sc.refuse(apierr.InternalServerError, "")
		case errors.Is(s.err, command.ErrMarketplaceClosed):
			result = sc.refuse(apierr.ServiceUnavailable, closedMessage)
		default:
			result = sc.refuse(apierr.ServiceUnavailable, "")
		}
	}
	return result
}

// level returns the feature level of a group.
func (c *Core) level(g ids.Group) command.Level {
	if c.Level == nil {
		return command.LevelFormat1
	}
	return c.Level(g)
}

// removeUnsupported removes the values from a share that its group cannot read until every node runs this version.
func (c *Core) removeUnsupported(s *share) {
	level := c.level(s.group)
	for i := range s.records {
		r := &s.records[i]
		if level < command.LevelPacing {
			r.Rank, r.AgeSeconds, r.Product = 0, 0, nil
		}
		if level < command.LevelPlaces {
			r.Place = event.PlaceOf(r.Place.Placement(), event.UnknownDevice, event.OnSite)
		}
		if level >= command.LevelProducts {
			continue
		}
		for j := range r.Items {
			r.Items[j].Unknown = false
		}
	}
}

func (c *Core) commit(s *share) {
	answer, err := c.Proposer.Propose(context.Background(), s.group, s.cmd)
	if err != nil {
		s.err = err
		return
	}
	s.outcomes, err = command.ReadEventResults(s.outcomes, answer)
	switch {
	case errors.Is(err, command.ErrMarketplaceClosed):
		s.err = err
	case err != nil || len(s.outcomes) != len(s.records):
		s.err = errors.Join(errAnswer, err)
	}
}

// size estimates the memory that an eventScratch occupies, in bytes.
func (es *eventScratch) size() int {
	const (
		eventSize  = 256
		itemSize   = 80
		recordSize = 232
	)
	n := cap(es.batch.Arena) + eventSize*cap(es.batch.Events) + itemSize*(cap(es.batch.Items)+cap(es.items))
	shares := es.shares[:cap(es.shares)]
	for i := range shares {
		n += recordSize*cap(shares[i].records) + cap(shares[i].cmd)
	}
	return n
}
