package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Shared keeps files in the directories of several nodes. A Put returns when a majority of the nodes has the file. A node that lacks a
// file fetches it when it is read, and keeps it.
//
// INVARIANT: a file whose Put returned survives the loss of any minority of the nodes. A reader on any node gets it whole as long
// as one node that has it can be reached; a received copy is compared with its hash before it gets its name.
//
// Files never change, so copies need no versions and no leader. A node that was down when a file was stored fetches it when
// it is read there. Each node's own sweep removes files that are not needed any more.
type Shared struct {
	local  *Local
	nodes  Nodes
	server *http.Server // Answers requests of other nodes.
	log    *slog.Logger

	mu       sync.Mutex // LOCKS: it guards waiting.
	waiting  map[string]*fetch
	fetches  chan struct{} // BOUND: fetches at the same moment.
	requests chan struct{} // BOUND: connections of peers at the same moment.
	copies   chan struct{} // BOUND: copies to peers that go on after their Put returned, and removals.
}

// Nodes are the other nodes of the cluster.
type Nodes interface {
	// Voters returns how many voters the cluster has, whether this node is one of them, and the names of the others.
	Voters() (count int, self bool, others []string)
	// Dial opens a connection to the Serve of a node.
	Dial(ctx context.Context, node string) (net.Conn, error)
}

const (
	fetchesMax = 8
	servedMax  = 32
	copiesMax  = 32
)

// ErrTooFew means that fewer nodes than a majority stored a file. The file is not stored.
var ErrTooFew = errors.New("too few nodes stored the file")

// NewShared returns a store on top of this node's directory.
func NewShared(own *Local, nodes Nodes, log *slog.Logger) *Shared {
	s := &Shared{
		local: own, nodes: nodes, log: log, waiting: map[string]*fetch{}, fetches: make(chan struct{}, fetchesMax),
		requests: make(chan struct{}, servedMax), copies: make(chan struct{}, copiesMax),
	}
	s.server = s.newServer()
	return s
}

// Put stores a file here and on as many other nodes as make a majority. Otherwise it returns ErrTooFew or the context's error, and
// removes the file.
func (s *Shared) Put(ctx context.Context, name string, r io.Reader) error {
	if err := s.local.Put(ctx, name, r); err != nil {
		return err
	}
	count, self, others := s.nodes.Voters()
	need := count/2 + 1
	if self {
		need--
	}
	err := s.replicate(ctx, name, need, others)
	if err != nil {
		return errors.Join(err, s.Remove(ctx, name))
	}
	return nil
}

// replicate copies a file to other nodes until enough have it. Copies to slower nodes continue in the background.
func (s *Shared) replicate(ctx context.Context, name string, need int, others []string) error {
	if need > len(others) {
		return fmt.Errorf("%w: %d more are needed, %d are known", ErrTooFew, need, len(others))
	}
	outcome := make(chan error, len(others))
	for _, node := range others {
		select {
		case s.copies <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		go func() {
			defer func() { <-s.copies }()
			bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), copyTimeout)
			defer cancel()
			err := s.push(bounded, node, name)
			if err != nil {
				err = fmt.Errorf("%s: %w", node, err)
			}
			outcome <- err
		}()
	}
	var failed []error
	for taken := 0; taken < need; {
		if len(others)-len(failed) < need {
			return fmt.Errorf("%w: %w", ErrTooFew, errors.Join(failed...))
		}
		select {
		case err := <-outcome:
			if err != nil {
				failed = append(failed, err)
			} else {
				taken++
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// fetch is a file that is being fetched from another node. All readers that wait for it get the same result.
type fetch struct {
	done chan struct{}
	err  error
}

// Open opens a file. If this node lacks it, Open fetches it first, and returns ErrNotFound when every other voter lacks it too.
func (s *Shared) Open(ctx context.Context, name string) (File, error) {
	f, err := s.local.Open(ctx, name)
	if !errors.Is(err, ErrNotFound) || !valid(name) {
		return f, err
	}
	if err := s.fetch(ctx, name); err != nil {
		return nil, err
	}
	return s.local.Open(ctx, name)
}

func (s *Shared) fetch(ctx context.Context, name string) error {
	s.mu.Lock()
	f := s.waiting[name]
	if f == nil {
		f = &fetch{done: make(chan struct{})}
		s.waiting[name] = f
		go func() {
			// It continues when the first reader stops waiting, because others may wait by then.
			bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), copyTimeout)
			defer cancel()
			f.err = s.fetchFromAny(bounded, name)
			s.mu.Lock()
			delete(s.waiting, name)
			s.mu.Unlock()
			close(f.done)
		}()
	}
	s.mu.Unlock()
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fetchFromAny asks one node after the other. ErrNotFound means that every node answered that it lacks the file.
func (s *Shared) fetchFromAny(ctx context.Context, name string) error {
	select {
	case s.fetches <- struct{}{}:
		defer func() { <-s.fetches }()
	case <-ctx.Done():
		return ctx.Err()
	}
	_, _, others := s.nodes.Voters()
	var failed []error
	for _, node := range others {
		err := s.pull(ctx, node, name)
		if err == nil {
			return nil
		}
		if !errors.Is(err, ErrNotFound) {
			failed = append(failed, fmt.Errorf("%s: %w", node, err))
		}
	}
	if failed == nil {
		return ErrNotFound
	}
	s.log.Warn("blob_fetch_failed", slog.String("name", name), slog.Any("err", errors.Join(failed...)))
	return errors.Join(failed...)
}

// Remove deletes a file here, and on the other nodes as far as they can be reached. Their sweeps remove what stays.
func (s *Shared) Remove(ctx context.Context, name string) error {
	_, _, others := s.nodes.Voters()
	for _, node := range others {
		select {
		case s.copies <- struct{}{}:
		default:
			continue
		}
		go func() {
			defer func() { <-s.copies }()
			bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), copyTimeout)
			defer cancel()
			_ = s.removeFrom(bounded, node, name) // The node's sweep removes it.
		}()
	}
	return s.local.Remove(ctx, name)
}

// Local returns this node's directory alone. The sweep uses it, because it must not remove files of other nodes that this node does
// not yet know the use of.
func (s *Shared) Local() *Local { return s.local }

// Walk lists the files of this node.
func (s *Shared) Walk(ctx context.Context, fn func(string, time.Time) error) error {
	return s.local.Walk(ctx, fn)
}

// Check returns an error when this node's directory cannot be used.
func (s *Shared) Check(ctx context.Context) error { return s.local.Check(ctx) }
