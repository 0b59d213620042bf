//go:build linux

package environment_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/environment"
)

// mode is the environment variable that makes this test binary a node. The node dials peers, and writes and syncs files, as requested over
// HTTP.
const mode = "ENVIRONMENT_TEST_NODE"

func TestMain(m *testing.M) {
	if os.Getenv(mode) != "" {
		serve(os.Args[1], os.Args[2])
	}
	os.Exit(m.Run())
}

func serve(ip, data string) {
	answer := func(w http.ResponseWriter, err error) {
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprint(w, err)
		}
	}
	http.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("/dial", func(w http.ResponseWriter, r *http.Request) {
		c, err := net.DialTimeout("tcp", r.FormValue("to"), 300*time.Millisecond)
		if err == nil {
			c.Close()
		}
		answer(w, err)
	})
	http.HandleFunc("/write", func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Create(filepath.Join(data, r.FormValue("name")))
		if err == nil {
			_, err = f.Write(make([]byte, 1<<20))
		}
		if err == nil && r.FormValue("sync") != "" {
			err = f.Sync()
		}
		answer(w, err)
	})
	log.Fatal(http.ListenAndServe(net.JoinHostPort(ip, "8081"), nil))
}

func build(t *testing.T, nodes int) *environment.Environment {
	t.Helper()
	if testing.Short() {
		t.Skip("makes namespaces and loop devices")
	}
	if err := environment.Check(false); err != nil {
		t.Skipf("SKIPPED: this machine cannot make a run: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w, err := environment.New(environment.Options{
		Nodes: nodes, Binary: self, LogDir: t.TempDir(), DiskBytes: 64 << 20, Env: []string{mode + "=1"},
		Args: func(w *environment.Environment, i int) []string {
			return []string{w.Nodes[i].IP, w.Nodes[i].Disk.Data()}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, n := range w.Nodes {
		start(t, n)
	}
	return w
}

func start(t *testing.T, n *environment.Node) {
	t.Helper()
	must(t, n.Start())
	must(t, n.WaitReady(t.Context()))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ask reports whether a node did within two seconds what it was asked for.
func ask(n *environment.Node, what string, args ...any) bool {
	client := http.Client{Timeout: 2 * time.Second}
	resp, err := client.Get(n.ManageURL + fmt.Sprintf(what, args...))
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func TestCutsAndLoss(t *testing.T) {
	w := build(t, 3)
	reaches := func(from, to int) bool { return ask(w.Nodes[from], "/dial?to=%s:8081", w.Nodes[to].IP) }
	for i := range 3 {
		for j := range 3 {
			if i != j && !reaches(i, j) {
				t.Fatalf("%d does not reach %d before anything was cut", i, j)
			}
		}
	}
	must(t, w.Net.Cut(0, 1))
	must(t, w.Net.Cut(0, 1)) // Two faults cut the same link; it opens with the second Heal.
	must(t, w.Net.Heal(0, 1))
	if reaches(0, 1) || !reaches(0, 2) || !reaches(2, 1) {
		t.Error("not exactly the link from n1 to n2 is cut")
	}
	if w.Net.Connected(0) != 2 || w.Net.Isolated(0) {
		t.Errorf("%d nodes connected with n1, isolated %v", w.Net.Connected(0), w.Net.Isolated(0))
	}
	must(t, w.Net.Heal(0, 1))
	if !reaches(0, 1) {
		t.Error("a healed link is still cut")
	}
	if !w.Net.CanLose() {
		return
	}
	must(t, w.Net.Lose(0.3))
	must(t, w.Net.Lose(1))
	if reaches(0, 1) {
		t.Error("a connection is possible though all packets are lost")
	}
	if !w.Nodes[0].Ready(t.Context()) {
		t.Error("packets between client and node are lost, too")
	}
	must(t, w.Net.Lose(0))
	if !reaches(0, 1) {
		t.Error("packets are lost though the loss has ended")
	}
}

func TestPowerCutLosesWhatWasNotSynced(t *testing.T) {
	n := build(t, 1).Nodes[0]
	if !ask(n, "/write?name=synced&sync=1") || !ask(n, "/write?name=loose") {
		t.Fatal("writing fails")
	}
	must(t, n.Disk.CutPower())
	if ask(n, "/write?name=after&sync=1") {
		t.Error("a disk without power took a write")
	}
	must(t, n.Kill())
	must(t, n.Disk.Restore())
	if info, err := os.Stat(filepath.Join(n.Disk.Data(), "synced")); err != nil || info.Size() != 1<<20 {
		t.Errorf("what was synced is lost: %v", err)
	}
	if info, err := os.Stat(filepath.Join(n.Disk.Data(), "loose")); err == nil && info.Size() > 0 {
		t.Error("what was not synced is still there, so this is no power cut")
	}
	must(t, n.Disk.Wipe())
	if files, err := os.ReadDir(n.Disk.Data()); err != nil || len(files) > 0 {
		t.Errorf("a wiped disk holds %v %v", files, err)
	}
	start(t, n)
}

func TestDiskFreezesFillsAndSlowsDown(t *testing.T) {
	n := build(t, 1).Nodes[0]
	must(t, n.Disk.Freeze())
	if ask(n, "/write?name=a&sync=1") {
		t.Error("a frozen disk took a write")
	}
	must(t, n.Disk.Thaw())
	if !ask(n, "/write?name=b&sync=1") {
		t.Error("a thawed disk takes no write")
	}
	must(t, n.Disk.Fill(64<<10))
	if ask(n, "/write?name=c&sync=1") {
		t.Error("a full disk took a write")
	}
	must(t, n.Disk.Free())
	if !ask(n, "/write?name=d&sync=1") {
		t.Error("a freed disk takes no write")
	}
	if !n.CanThrottle() {
		t.Log("SKIPPED: no control group for block devices")
		return
	}
	took := func() time.Duration {
		begin := time.Now()
		for i := range 10 {
			if !ask(n, "/write?name=e%d&sync=1", i) {
				t.Fatal("a slow disk fails")
			}
		}
		return time.Since(begin)
	}
	must(t, n.Throttle(10))
	if slow := took(); slow < 500*time.Millisecond { // Ten synced files are at least ten writes.
		t.Errorf("ten synced files took %v at ten writes a second", slow)
	}
	n.Unthrottle()
}

func TestProcessesStopEndAndStartAgain(t *testing.T) {
	n := build(t, 1).Nodes[0]
	must(t, n.Signal(syscall.SIGSTOP))
	for deadline := time.Now().Add(5 * time.Second); n.Ready(t.Context()); { // The signal is on its way.
		if time.Now().After(deadline) {
			t.Fatal("a stopped process answers")
		}
	}
	must(t, n.Signal(syscall.SIGCONT))
	must(t, n.WaitReady(t.Context()))
	must(t, n.Signal(syscall.SIGSTOP))
	must(t, n.Kill())
	if n.End().String() != "signal: killed" {
		t.Errorf("%v after SIGKILL", n.End())
	}
	must(t, n.Kill()) // The process has ended already.
	start(t, n)
	log, err := os.ReadFile(n.Log)
	if err != nil || strings.Count(string(log), "nemesis: start") != 2 {
		t.Errorf("the log does not have both runs of the process: %v\n%s", err, log)
	}
}

// A run that is killed leaves processes, mounts and interfaces. The next run with its slot removes them. That may be a run of
// another test, so this one does not expect the slot, but takes some until what was left is gone.
func TestWhatAKilledRunLeftIsRemoved(t *testing.T) {
	w := build(t, 2)
	must(t, w.Nodes[0].Disk.Freeze())
	must(t, w.Nodes[1].Signal(syscall.SIGSTOP))
	mount, exited := w.Nodes[0].Disk.Mount, w.Nodes[1].Exited()
	if other := build(t, 1); other.Nodes[0].IP == w.Nodes[0].IP {
		t.Fatalf("two runs share the address %s", other.Nodes[0].IP)
	}
	select {
	case <-exited:
		t.Fatal("a run with another slot ended a process of this one")
	default:
	}
	must(t, w.Abandon())
	for range 10 {
		again := build(t, 1)
		select {
		case <-exited:
			return
		case <-time.After(5 * time.Second):
		}
		if again.Nodes[0].Disk.Mount == mount {
			t.Fatal("a process of the killed run is still running")
		}
	}
	t.Fatalf("of ten runs none had the slot of %s", mount)
}
