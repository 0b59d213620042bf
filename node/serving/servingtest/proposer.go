package servingtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Proposer stands in for the raft groups: it remembers what was proposed and answers that each record was new, or a
// duplicate if its key was proposed before.
type Proposer struct {
	mu      sync.Mutex
	waiting int // Proposals that Block holds back.
	seen    map[[16]byte]bool
	// Fail names the groups that are not available.
	Fail map[ids.Group]bool
	// Outcome, when set, decides what becomes of a record.
	Outcome func(*command.EventRecord) command.EventResult
	// Block, when set, is waited for before a group answers.
	Block chan struct{}
	// Committed are the shares in the order of their commit.
	Committed []Share
}

// Share is what one group was given.
type Share struct {
	Group  ids.Group
	Events command.Events
}

// ErrDown is what a group in Fail answers.
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

// Waiting returns when n proposals are held back by Block.
func (p *Proposer) Waiting(n int) {
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

// Records lists all committed records, group by group in the order of commits.
func (p *Proposer) Records() []command.EventRecord {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []command.EventRecord
	for _, s := range p.Committed {
		all = append(all, s.Events.Records...)
	}
	return all
}
