package raftstore

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// Durations are counted in buckets whose bounds are powers of two of a second.
const (
	octaveFirst = -14 // 61 µs; shorter durations count in this bucket too.
	octaveLast  = 5   // 32 s; longer durations count in one more bucket.
)

// Latencies is a histogram of durations since the start.
type Latencies struct {
	// Buckets[i] counts the durations longer than Bound(i-1) and at most Bound(i); the last one counts all longer ones.
	Buckets [octaveLast - octaveFirst + 2]uint64
	Total   time.Duration
}

// Bound is the upper bound of bucket i in seconds. That of the last bucket is infinite. REQUIRES: i is an index of
// Buckets.
func (l *Latencies) Bound(i int) float64 {
	if i == len(l.Buckets)-1 {
		return math.Inf(1)
	}
	return math.Exp2(float64(octaveFirst + i))
}

// latency counts durations for Latencies. It is safe for concurrent use.
type latency struct {
	buckets [len(Latencies{}.Buckets)]atomic.Uint64
	nanos   atomic.Int64
}

func (l *latency) add(d time.Duration) {
	fraction, octave := math.Frexp(d.Seconds()) // fraction × 2^octave, fraction in [0.5, 1).
	if fraction == 0.5 {
		octave--
	}
	if d <= 0 {
		octave = octaveFirst
	}
	l.buckets[min(max(octave-octaveFirst, 0), len(l.buckets)-1)].Add(1)
	l.nanos.Add(int64(d))
}

func (l *latency) read() (all Latencies) {
	for i := range l.buckets {
		all.Buckets[i] = l.buckets[i].Load()
	}
	all.Total = time.Duration(l.nanos.Load())
	return all
}

// PeerStatus is a follower as its leader sees it.
type PeerStatus struct {
	Node string
	// Lag is how many entries its log was shorter than the leader's log is now, as of its last answer. Under load it
	// includes what was written since that answer.
	Lag     uint64
	Contact time.Time // When it last answered; zero: never.
}

// peers returns what a leader knows of its followers, and nil on other nodes.
func (g *Group) peers() (all []PeerStatus) {
	if g.raft.State() != raft.Leader {
		return nil
	}
	last, _ := g.log.LastIndex() // Never fails.
	for _, server := range g.servers().Servers {
		if server.ID == g.store.identity.Server {
			continue
		}
		at, end := g.safe.PeerEnd(server.ID)
		all = append(all, PeerStatus{Node: nodeOf(server.ID), Lag: last - min(last, end), Contact: at})
	}
	return all
}

// datedEntry is the time at which the first entry of the log was created.
type datedEntry struct {
	first uint64 // The first index of the log when this was read.
	at    time.Time
}

// undatedMax bounds the entries at the front of a log that no leader created: those of founding and of recovery have no
// time.
const undatedMax = 4

// oldestEntryTime is when a leader created the oldest entry of the log; zero: not known. The log is read only when it
// was truncated since the last call.
func (g *Group) oldestEntryTime() time.Time {
	first, _ := g.log.FirstIndex() // Never fails.
	if known := g.oldestEntry.Load(); known != nil && known.first == first && !known.at.IsZero() {
		return known.at
	}
	if first == 0 || !g.store.acquire() {
		return time.Time{}
	}
	defer g.store.release()
	found := datedEntry{first: first}
	for i := first; i < first+undatedMax && found.at.IsZero(); i++ {
		var l raft.Log
		if g.log.GetLog(i, &l) == nil {
			found.at = l.AppendedAt
		}
	}
	g.oldestEntry.Store(&found)
	return found.at
}
