package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// network connects nodes through pipes, unless they are down.
type network struct {
	mu    sync.Mutex
	nodes map[string]*Shared
	down  map[string]bool
	asked map[string]int // Connections to each node.
}

func (n *network) set(name string, down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down[name] = down
}

type membership struct {
	net  *network
	name string
}

func (s membership) Voters() (int, bool, []string) {
	var others []string
	for name := range s.net.nodes {
		if name != s.name {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	return len(s.net.nodes), true, others
}

func (s membership) Dial(_ context.Context, node string) (net.Conn, error) {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	s.net.asked[node]++
	if s.net.down[node] || s.net.down[s.name] {
		return nil, errors.New("down")
	}
	here, there := net.Pipe()
	go func() {
		s.net.nodes[node].Serve(there)
		_ = there.Close()
	}()
	return here, nil
}

func newNetwork(t *testing.T, names ...string) *network {
	t.Helper()
	n := &network{nodes: map[string]*Shared{}, down: map[string]bool{}, asked: map[string]int{}}
	for _, name := range names {
		dir, err := OpenLocal(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = dir.Close() })
		n.nodes[name] = NewShared(dir, membership{n, name}, slog.New(slog.DiscardHandler))
	}
	return n
}

func content(t *testing.T, s Store, name string) string {
	t.Helper()
	f, err := s.Open(t.Context(), name)
	if err != nil {
		return err.Error()
	}
	text, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err.Error()
	}
	return string(text)
}

func random(t *testing.T, n int) string {
	t.Helper()
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestAFileOutlivesItsNode: after Put has returned, the node that received the file may be lost.
func TestAFileOutlivesItsNode(t *testing.T) {
	n := newNetwork(t, "a", "b", "c")
	for i, size := range []int{0, 1, 32 << 10, 32<<10 + 1, 3 << 20} {
		name, want := Name("a", 1), random(t, size)
		if err := n.nodes["a"].Put(t.Context(), name, strings.NewReader(want)); err != nil {
			t.Fatal(err)
		}
		n.set("a", true)
		for _, node := range []string{"b", "c"} {
			if content(t, n.nodes[node], name) != want {
				t.Errorf("file %d of %d bytes is not the same on %s", i, size, node)
			}
		}
		n.set("a", false)
	}
}

// TestPutNeedsAMajority: a file that only a minority could store is refused, and removed wherever it can be.
func TestPutNeedsAMajority(t *testing.T) {
	n := newNetwork(t, "a", "b", "c", "d", "e")
	n.set("b", true)
	n.set("c", true)
	name := Name("a", 1)
	if err := n.nodes["a"].Put(t.Context(), name, strings.NewReader("x")); err != nil {
		t.Errorf("two of five are down: %v", err)
	}
	n.set("d", true)
	if err := n.nodes["a"].Put(t.Context(), Name("a", 2), strings.NewReader("x")); !errors.Is(err, ErrTooFew) {
		t.Errorf("three of five are down: %v", err)
	}
	left := 0
	if err := n.nodes["a"].Walk(t.Context(), func(string, time.Time) error { left++; return nil }); err != nil || left != 1 {
		t.Errorf("%d files are left, %v", left, err)
	}
	broken := errors.New("the client went away")
	if err := n.nodes["a"].Put(t.Context(), Name("a", 3), io.MultiReader(strings.NewReader("x"), failing{broken})); !errors.Is(err, broken) {
		t.Errorf("an upload that broke off: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestFetch: a node fetches a file that it lacks once, however many readers there are, and keeps it.
func TestFetch(t *testing.T) {
	n := newNetwork(t, "a", "b", "c")
	name, want := Name("a", 1), random(t, 200_000)
	if err := n.nodes["a"].local.Put(t.Context(), name, strings.NewReader(want)); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if content(t, n.nodes["c"], name) != want {
				t.Error("not the file")
			}
		})
	}
	all.Wait()
	if n.asked["a"] != 1 {
		t.Errorf("it was fetched %d times", n.asked["a"])
	}
	n.set("a", true)
	if content(t, n.nodes["c"], name) != want || content(t, n.nodes["b"], name) != want {
		t.Error("it is not kept, or not passed on")
	}
	if _, err := n.nodes["b"].Open(t.Context(), Name("a", 1)); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("a node that may have the file did not answer: %v", err)
	}
	n.set("a", false)
	if _, err := n.nodes["b"].Open(t.Context(), Name("a", 1)); !errors.Is(err, ErrNotFound) {
		t.Errorf("nobody has it: %v", err)
	}
}

// TestRemove: a removal reaches the others.
func TestRemoveReachesOthers(t *testing.T) {
	n := newNetwork(t, "a", "b", "c")
	name := Name("a", 1)
	if err := n.nodes["a"].Put(t.Context(), name, strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	for { // The copy that Put did not wait for.
		_, b := n.nodes["b"].local.Open(t.Context(), name)
		_, c := n.nodes["c"].local.Open(t.Context(), name)
		if b == nil && c == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := n.nodes["b"].Remove(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"a", "c"} {
		for {
			if _, err := n.nodes[node].local.Open(t.Context(), name); errors.Is(err, ErrNotFound) {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}
