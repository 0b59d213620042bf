package transport

import (
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
	id      raft.ServerID
	answers chan raft.AppendFuture
	closed  chan struct{}
	once    sync.Once
}

// AppendEntries sends entries without waiting for the answer.
func (p *pipeline) AppendEntries(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	stall := time.AfterFunc(pipelineStall, func() { _ = p.Close() }) // Never fails.
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
				_ = p.Close() // The next call on it fails, and Raft opens a new pipeline.
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

// Close ends the pipeline.
func (p *pipeline) Close() error {
	p.once.Do(func() { close(p.closed) })
	return p.AppendPipeline.Close()
}

// AppendEntriesPipeline opens a pipeline to a follower.
func (s Safe) AppendEntriesPipeline(id raft.ServerID, target raft.ServerAddress) (raft.AppendPipeline, error) {
	inner, err := s.NetworkTransport.AppendEntriesPipeline(id, withServer(id, target))
	if err != nil {
		return nil, err
	}
	p := &pipeline{AppendPipeline: inner, id: id, answers: make(chan raft.AppendFuture), closed: make(chan struct{})}
	go p.pass()
	return p, nil
}
