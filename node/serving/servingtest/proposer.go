package servingtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Proposer replaces the raft groups: it stores what was proposed and answers that each record was new, or a duplicate if
// its key was proposed before.
type Proposer struct {
	mu      sync.Mutex
	waiting int // The number of proposals that wait for Block.
	seen    map[[16]byte]bool
	// Fail contains the groups that are not available.
	Fail map[ids.Group]bool
	// Outcome, when set, returns the result of a record that is not a duplicate.
	Outcome func(*command.EventRecord) command.EventResult
	// Block, when set, delays every answer until the channel is closed or receives a value for it.
	Block chan struct{}
	// Committed are the shares in the order of their commit.
	Committed []Share
}

// Share is one command of events that was proposed to a group.
type Share struct {
	Group  ids.Group
	Events command.Events
}

// ErrDown is the error of a group in Fail.
var ErrDown = errors.New("group is down")

// Propose commits a command.
func (p *Proposer) Propose(ctx context.Context, group ids.Group, cmd []byte) ([]byte, error) {
	if p.Block != nil {
		p.mu.Lock()
		p.waiting++
		p.mu.Unlock()
		select {
		case <-p.Block:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Fail[group] {
		return nil, ErrDown
	}
	opened, err := command.Open(append([]byte(nil), cmd...))
	if err != nil {
		return nil, err
	}
	share := Share{Group: group}
	if err = command.ReadEvents(&opened, &share.Events); err != nil {
		return nil, err
	}
	p.Committed = append(p.Committed, share)
	return command.AppendEventResults(nil, p.results(share.Events.Records)), nil
}

func (p *Proposer) results(records []command.EventRecord) []command.EventResult {
	if p.seen == nil {
		p.seen = map[[16]byte]bool{}
	}
	results := make([]command.EventResult, len(records))
	for i := range records {
		r := &records[i]
		switch {
		case p.seen[r.Key]:
			results[i].Outcome = command.Duplicate
		case p.Outcome != nil:
			results[i] = p.Outcome(r)
		}
		p.seen[r.Key] = true
	}
	return results
}

// WaitBlocked returns when n proposals wait for Block.
func (p *Proposer) WaitBlocked(n int) {
	for {
		p.mu.Lock()
		enough := p.waiting >= n
		p.mu.Unlock()
		if enough {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// Records returns all committed records in the order of commits.
func (p *Proposer) Records() []command.EventRecord {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []command.EventRecord
	for _, s := range p.Committed {
		all = append(all, s.Events.Records...)
	}
	return all
}
