package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
)

const (
	// connectionsMax is how many connections a peer may have. BOUND: the campaigns of all connections are made beforehand.
	connectionsMax = 64
	// batchMax is how many events a request may have: etcd's transactions have at most 128 operations, Gavel's bodies 50 clicks.
	batchMax = 50
	// campaignsEach is how many campaigns a connection has for its own. Nobody else changes their budgets, so no peer waits for a lock or
	// repeats a transaction, which spares PostgreSQL and etcd what would cost them most.
	campaignsEach = 4
	price         = 37                // Of a click, in any unit.
	budget        = 1_000_000_000_000 // Of a campaign: it never runs out.
)

// peer is a system under test. Its processes are started for the run, on loopback and on an empty directory.
type peer interface {
	// start starts the processes and returns when they answer. The error is a *missing when something is not installed.
	start(ctx context.Context, dir string) error
	// prepare gets ready for a measurement with so many events in all, so many of them in a request.
	prepare(ctx context.Context, events, batch int) error
	// dial opens connection i, counted from 0, of the measurement that was prepared.
	dial(i int) (client, error)
	// count asks the peer what it has counted since it was started.
	count(ctx context.Context) (counts, error)
	pids() []int
	version() string
	stop() error
}

// client is one connection with one request in flight. It belongs to one goroutine.
type client interface {
	// charge sends the next n events and returns how many of them were charged. After an error nobody knows.
	charge(n int) (int, error)
	// repeat sends the last request again, of which nothing may be charged a second time.
	repeat() error
	close()
}

// counts is what a peer has counted: events, and those of them that were charged.
type counts struct{ Events, Charged int64 }

// guarantee is what an acknowledgement of a peer means.
type guarantee struct {
	Durable    string // What survives a loss of power.
	Once       string // How long a repeat is recognised.
	Replicated string
}

// candidate is a peer by its name.
type candidate struct {
	name  string
	nodes int // How many processes have the data. Ratios compare equal numbers.
	guarantee
	make func(o *options) peer
}

// candidates are all peers, in the order of the table.
var candidates = []candidate{
	{"gavel", 1, guarantee{"fsync before the answer", "72 hours, and 30 days by token", "no"}, func(o *options) peer { return &gavel{binary: o.gavel, nodes: 1} }},
	{"redis", 1, guarantee{"fsync before the answer", "72 hours (expiry of the key)", "no"}, func(*options) peer { return &redis{durable: true} }},
	{"redis-volatile", 1, guarantee{"nothing", "72 hours (expiry of the key)", "no"}, func(*options) peer { return &redis{} }},
	{"postgres", 1, guarantee{"fsync before the answer", "until rows are deleted", "no"}, func(*options) peer { return &postgres{} }},
	{"etcd", 1, guarantee{"fsync before the answer", "until keys are deleted", "no"}, func(*options) peer { return &etcd{nodes: 1} }},
	{"gavel-3", 3, guarantee{"fsync on two nodes before the answer", "72 hours, and 30 days by token", "on three nodes"}, func(o *options) peer { return &gavel{binary: o.gavel, nodes: 3} }},
	{"etcd-3", 3, guarantee{"fsync on two nodes before the answer", "until keys are deleted", "on three nodes"}, func(*options) peer { return &etcd{nodes: 3} }},
}

func peerNamed(name string) *candidate {
	for i := range candidates {
		if candidates[i].name == name {
			return &candidates[i]
		}
	}
	return nil
}

func names() (all []string) {
	for i := range candidates {
		all = append(all, candidates[i].name)
	}
	return all
}

// missing says that a peer cannot run on this machine.
type missing struct{ what, pkg string }

func (m *missing) Error() string {
	return fmt.Sprintf("there is no %s; on Debian: apt-get install %s, and stop the service that it starts", m.what, m.pkg)
}

// dials counts the connections of the process, so that the ids of each differ from all others'.
var dials atomic.Uint64

// source makes the events of one connection.
type source struct {
	prefix   []byte
	number   uint64
	id       []byte
	campaign int // The index of the first campaign of the connection.
}

func newSource(i int) source {
	return source{prefix: append(strconv.AppendUint([]byte("c"), dials.Add(1), 36), '-'), campaign: i * campaignsEach}
}

// next returns the id and the campaign of the next event. OWNERSHIP: the id is valid until the next call.
func (s *source) next() (id []byte, campaign int) {
	s.number++
	s.id = strconv.AppendUint(append(s.id[:0], s.prefix...), s.number, 36)
	return s.id, s.campaign + int(s.number%campaignsEach)
}

// campaigns is how many campaigns exist: those of as many connections as there may be.
const campaigns = connectionsMax * campaignsEach

// unprepared is the prepare of a peer that needs nothing.
type unprepared struct{}

func (unprepared) prepare(context.Context, int, int) error { return nil }

// gavelOf returns the name of the candidate that is Gavel with so many nodes, with which others of as many are compared.
func gavelOf(nodes int) string {
	i := slices.IndexFunc(candidates, func(c candidate) bool { return c.nodes == nodes })
	return candidates[i].name // The first of each number is Gavel.
}
