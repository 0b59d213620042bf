package raftstore

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// Durations are counted by powers of two of a second.
const (
	octaveFirst = -14 // 61 µs: what took less counts here too.
	octaveLast  = 5   // 32 s: what took longer counts in the bucket behind.
)

// Latencies is how long something took, each time since the start.
type Latencies struct {
	// Buckets holds in i what took at most Bound(i) and longer than Bound(i-1); the last one holds all that took longer.
	Buckets [octaveLast - octaveFirst + 2]uint64
	Total   time.Duration
}

// Bound is the upper bound of bucket i in seconds; that of the last one is infinite.
func (l *Latencies) Bound(i int) float64 {
	if i == len(l.Buckets)-1 {
		return math.Inf(1)
	}
	return math.Exp2(float64(octaveFirst + i))
}

// latency counts into Latencies. It is safe for concurrent use.
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
	Node    string
	Lag     uint64    // Entries by which its log was shorter than the leader's when it answered last. Heartbeats tell it, so under load it includes what was written since.
	Contact time.Time // When it answered last; zero: never.
}

// peers is what a leader knows of its followers; nil on others.
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

// dated is an entry of the log and when a leader made it.
type dated struct {
	first uint64 // The first index of the log then.
	at    time.Time
}

// undated bounds the entries at the front of a log that no leader made: those of founding and of recovery have no time.
const undated = 4

// oldest is when the oldest entry of the log was made by its leader; zero: not known. The log is read only when it was cut
// since the last time.
func (g *Group) oldest() time.Time {
	first, _ := g.log.FirstIndex() // Never fails.
	if known := g.oldestEntry.Load(); known != nil && known.first == first && !known.at.IsZero() {
		return known.at
	}
	if first == 0 || !g.store.enter() {
		return time.Time{}
	}
	defer g.store.leave()
	found := dated{first: first}
	for i := first; i < first+undated && found.at.IsZero(); i++ {
		var l raft.Log
		if g.log.GetLog(i, &l) == nil {
			found.at = l.AppendedAt
		}
	}
	g.oldestEntry.Store(&found)
	return found.at
}
