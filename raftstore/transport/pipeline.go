package transport

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// pipelineStall is how long a pipeline may be full before it is closed.
const pipelineStall = 2 * time.Second

// pipeline is a pipeline of entries to a follower that cannot get stuck, and that passes on the answers of that
// follower only.
//
// hashicorp/raft v1.8.0 stops reading the answers of a pipeline when one of them names a newer term, while the sender
// may wait for room in it. Then neither goes on (one form of raft#612): the sender stays for ever, with heartbeats
// beside it, and Shutdown waits for it; the simulation found the latter. Closing the pipeline frees the sender; for a
// follower that was only slow Raft goes back to single calls, and later to a new pipeline.
//
// Raft counts the answers of a pipeline without reading their error, so an answer of another server (errAddressee) is
// not passed on and ends the pipeline.
type pipeline struct {
	raft.AppendPipeline
	id       raft.ServerID
	pipes    *pipelines
	answers  chan raft.AppendFuture
	closed   chan struct{}
	once     sync.Once
	released chan struct{} // Closed when Raft has closed the pipeline, after which it uses it no more.
	release  sync.Once
}

// AppendEntries sends entries without waiting for the answer.
func (p *pipeline) AppendEntries(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	stall := time.AfterFunc(pipelineStall, p.end)
	defer stall.Stop()
	return p.AppendPipeline.AppendEntries(args, resp)
}

// Consumer returns the answers of the server that was called.
func (p *pipeline) Consumer() <-chan raft.AppendFuture { return p.answers }

// pass passes on the answers. It ends with Close, which Raft calls for every pipeline.
func (p *pipeline) pass() {
	for {
		select {
		case f := <-p.AppendPipeline.Consumer():
			if f.Error() == nil && checkResponder(p.id, f.Response().RPCHeader, nil) != nil {
				p.end() // The next call on it fails, and Raft opens a new pipeline.
				return
			}
			select {
			case p.answers <- f:
			case <-p.closed:
				return
			}
		case <-p.closed:
			return
		}
	}
}

// end makes all further calls fail.
func (p *pipeline) end() {
	p.once.Do(func() { close(p.closed) })
	_ = p.AppendPipeline.Close() // Never fails.
}

// Close ends the pipeline. Only Raft calls it, once it has left the pipeline.
func (p *pipeline) Close() error {
	p.end()
	p.release.Do(func() {
		p.pipes.remove(p)
		close(p.released)
	})
	return nil
}

// AppendEntriesPipeline opens a pipeline to a follower, unless WithoutPipelines forbids it.
func (s Safe) AppendEntriesPipeline(id raft.ServerID, target raft.ServerAddress) (raft.AppendPipeline, error) {
	pipes := &s.filter.pipelines
	if pipes.areForbidden(id) {
		return nil, raft.ErrPipelineReplicationNotSupported
	}
	inner, err := s.NetworkTransport.AppendEntriesPipeline(id, withServer(id, target))
	if err != nil {
		return nil, err
	}
	p := &pipeline{
		AppendPipeline: inner, id: id, pipes: pipes, answers: make(chan raft.AppendFuture), closed: make(chan struct{}), released: make(chan struct{}),
	}
	if !pipes.add(p) {
		p.end()
		return nil, raft.ErrPipelineReplicationNotSupported
	}
	go p.pass()
	return p, nil
}

// pipelines are the pipelines that Raft uses, by follower.
type pipelines struct {
	mu        sync.Mutex
	open      map[raft.ServerID][]*pipeline
	forbidden map[raft.ServerID]bool
}

func (s *pipelines) areForbidden(id raft.ServerID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forbidden[id]
}

// add records a pipeline, or returns false when it must not be opened.
func (s *pipelines) add(p *pipeline) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forbidden[p.id] {
		return false
	}
	if s.open == nil {
		s.open = map[raft.ServerID][]*pipeline{}
	}
	s.open[p.id] = append(s.open[p.id], p)
	return true
}

func (s *pipelines) remove(p *pipeline) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[p.id] = slices.DeleteFunc(s.open[p.id], func(o *pipeline) bool { return o == p })
}

// forbid forbids new pipelines to a follower and returns those that are open.
func (s *pipelines) forbid(id raft.ServerID) []*pipeline {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forbidden == nil {
		s.forbidden = map[raft.ServerID]bool{}
	}
	s.forbidden[id] = true
	return slices.Clone(s.open[id])
}

func (s *pipelines) allow(id raft.ServerID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.forbidden, id)
}

// WithoutPipelines calls change when Raft has left every pipeline to a follower, and until change returns Raft sends to
// that follower by single calls. It returns the error of change, or ctx.Err when Raft does not leave them in time.
// REQUIRES: one call at a time for each follower.
//
// hashicorp/raft v1.8.0 reads the server that a pipeline goes to without its lock, for a line about a call that failed
// (pipelineSend) and to count an answer (updateLastAppended), while its main loop writes a new address of that server:
// a data race, in which it may read half of an address. Raft closes a pipeline in the goroutine that reads, after its
// last read, so what follows here comes after all of them; and the next pipeline begins with the lock. So a change of
// address is made without pipelines to that server.
func (s Safe) WithoutPipelines(ctx context.Context, id raft.ServerID, change func() error) error {
	pipes := &s.filter.pipelines
	open := pipes.forbid(id)
	defer pipes.allow(id)
	for _, p := range open {
		p.end()
		select {
		case <-p.released:
		case <-ctx.Done():
			return fmt.Errorf("raft uses the old address of %s: %w", id, ctx.Err())
		}
	}
	return change()
}
