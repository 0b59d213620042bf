package transport

import (
	"time"

	"github.com/hashicorp/raft"
)

// pipelineStall is how long a pipeline may be full before it is closed.
const pipelineStall = 2 * time.Second

// pipeline is a pipeline of entries to a follower that does not stay stuck.
//
// hashicorp/raft v1.8.0 stops to take answers off a pipeline when one of them tells of a newer term, while the sender may
// wait for room in it. Then neither goes on (one face of raft#612): the sender lives for ever, heartbeats beside it, and
// Shutdown waits for it. Our simulation found the latter. Closing the pipeline frees the sender; to a follower that was
// only slow raft goes back to single calls, and later to a new pipeline.
type pipeline struct {
	raft.AppendPipeline
}

// AppendEntries sends entries without waiting for the answer.
func (p pipeline) AppendEntries(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	stall := time.AfterFunc(pipelineStall, func() { _ = p.Close() }) // Never fails.
	defer stall.Stop()
	return p.AppendPipeline.AppendEntries(args, resp)
}

// AppendEntriesPipeline opens a pipeline to a follower.
func (s Safe) AppendEntriesPipeline(id raft.ServerID, target raft.ServerAddress) (raft.AppendPipeline, error) {
	p, err := s.NetworkTransport.AppendEntriesPipeline(id, target)
	if err != nil {
		return nil, err
	}
	return pipeline{p}, nil
}
