package main_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/nodetest"
)

// crashArgs returns the arguments of a node under the crash test.
func crashArgs(groups int) []string {
	return []string{
		"--groups", strconv.Itoa(groups),
		"--ratelimit-management", "0", "--ratelimit-catalog", "0",
		// Snapshots about every second, so that some kills occur while one is written, or while the log is truncated after it.
		"--raft-snapshot-interval", "1s", "--raft-snapshot-threshold", "64", "--raft-trailing-logs", "256",
	}
}

// TestKill is the crash test: an acknowledged event is never lost, no event and no token is charged twice, nothing is
// billed above a budget or a wallet, and a restarted node has the same state.
//
// Many connections load a real process, which is killed with SIGKILL at a random time, restarted on the same data
// directory, and audited, repeatedly. What the audit expects follows from the interface and from the history of what was
// sent and answered: it shares no code with the node.
//
// Only a 200 acknowledges an outcome. The outcome of an interrupted request is unknown: it counts neither as lost nor as
// done, and the request is resent unchanged after the restart until it is acknowledged.
//
//	KILLS=200 KILL_SEED=7 go test ./node -run TestKill -timeout 20m
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and kills real processes")
	}
	kills := number(t, "KILLS", 12)
	seed := uint64(number(t, "KILL_SEED", int(time.Now().UnixNano()%1_000_000)))
	// One group, and several: with several, the events of one body are in several commits, which a kill can separate.
	for i, groups := range []int{1, 4} {
		share := (kills + 1 - i) / 2
		t.Run(fmt.Sprintf("groups=%d", groups), func(t *testing.T) {
			t.Logf("seed %d, %d kills", seed, share)
			newCrash(t, seed+uint64(groups), nodetest.Options{Args: crashArgs(groups)}).run(share)
		})
	}
}

// number reads a positive number from the environment.
func number(t *testing.T, name string, preset int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return preset
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q: want a positive number", name, text)
	}
	return n
}

// crash is one sequence of kills on one data directory.
type crash struct {
	t       testing.TB
	r       *rand.Rand
	node    *nodetest.Node
	power   power // With nil only the process is killed.
	stage   *killMarket
	history *history
	load    *load
	// replay starts the killed node's state without traffic and returns its digests by group, and how many commands
	// were replayed.
	replay func(*crash) (map[uint16]string, uint64)
}

// power is a disk whose power can be cut, which loses what was not synced. After a SIGKILL alone the kernel still has
// its cache.
type power interface {
	cut() error
	restore() error // REQUIRES: no process has a file of the disk open.
}

func newCrash(t testing.TB, seed uint64, o nodetest.Options) *crash {
	t.Helper()
	node := nodetest.Start(t, o)
	c := &crash{t: t, r: rand.New(rand.NewPCG(seed, 1)), node: node, history: &history{}, replay: (*crash).openDirectory}
	c.stage = newKillMarket(t, node)
	c.load = newLoad(c.node, c.stage, c.history, seed)
	return c
}

func (c *crash) run(kills int) {
	c.t.Helper()
	for cycle := 1; cycle <= kills; cycle++ {
		c.killUnderLoad()
		c.restart()
		if c.r.IntN(4) == 0 {
			c.killDuringRecovery()
		}
		c.load.resendUnknown(c.t)
		c.audit(fmt.Sprintf("after kill %d of %d", cycle, kills))
	}
	c.finalAudit()
	c.sameStateAfterReplay()
	c.history.log(c.t, c.stage)
	if !c.stage.anyRanOut() {
		c.t.Error("no campaign and no wallet was used up: clipping was not tested; raise KILLS or the load")
	}
}

// killUnderLoad loads the node and kills it either at a random time or when an acknowledgement arrives. The second
// finds more: that body is the newest that must not be lost.
func (c *crash) killUnderLoad() {
	c.t.Helper()
	kill := func() {
		c.history.recordKill()
		if err := c.kill(); err != nil {
			c.t.Error(err)
		}
	}
	if c.r.IntN(3) == 0 {
		c.load.run(c.t, 0, time.Duration(20+c.r.IntN(500))*time.Millisecond, kill)
		return
	}
	c.load.run(c.t, 20+c.r.IntN(1_200), 0, kill)
}

// kill ends the process. If the power of the disk can be cut, that comes first.
func (c *crash) kill() error {
	var cut error
	if c.power != nil {
		cut = c.power.cut()
	}
	return errors.Join(cut, c.node.Kill())
}

func (c *crash) start() {
	c.t.Helper()
	if c.power != nil {
		if err := c.power.restore(); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := c.node.Start(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *crash) restart() {
	c.t.Helper()
	c.start()
	if err := c.node.WaitReady(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// killDuringRecovery kills a start at a random time, once or twice, and starts again.
func (c *crash) killDuringRecovery() {
	c.t.Helper()
	if err := c.kill(); err != nil {
		c.t.Fatal(err)
	}
	for range 1 + c.r.IntN(2) {
		c.start()
		time.Sleep(time.Duration(c.r.IntN(200)) * time.Millisecond)
		if err := c.kill(); err != nil {
			c.t.Fatal(err)
		}
	}
	c.restart()
}
