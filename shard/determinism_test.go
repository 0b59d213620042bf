package shard_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// logVariable is the environment variable with the path of the log that a child process of the test replays.
const logVariable = "GAVEL_DETERMINISM_LOG"

// TestAnotherProcessComesToTheSame replays one log in this process, in batches with restarts and snapshots at random
// indexes, and in new processes with other numbers of processors, which have other map seeds and memory layouts. The
// digest must be the same at every index. TestGoldenLogs covers other versions of the binary.
func TestAnotherProcessComesToTheSame(t *testing.T) {
	if file := os.Getenv(logVariable); file != "" {
		log, err := os.ReadFile(file)
		check(t, err)
		os.Stdout.WriteString("\n" + strings.Join(digestsOf(t, log, nil), "\n") + "\n")
		return
	}
	log := randomLog(3_000)
	want := digestsOf(t, log, nil)
	if len(want) < 3_000 {
		t.Fatalf("%d digests", len(want))
	}
	same := func(who string, got []string) {
		t.Helper()
		for i := range want {
			if i >= len(got) || got[i] != "" && got[i] != want[i] {
				t.Fatalf("%s differs at command %d of %d", who, i, len(want))
			}
		}
	}
	same("a replica with batches, restarts and snapshots", digestsOf(t, log, rand.New(rand.NewPCG(1, 1))))
	file := filepath.Join(t.TempDir(), "log")
	check(t, os.WriteFile(file, log, 0o600))
	for _, processors := range []int{1, 2, 7} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAnotherProcessComesToTheSame$")
		cmd.Env = append(os.Environ(), logVariable+"="+file, fmt.Sprint("GOMAXPROCS=", processors))
		out, err := cmd.Output()
		check(t, err)
		_, out, _ = bytes.Cut(out, []byte("\n"))
		same(fmt.Sprintf("a process with %d processors", processors), strings.Split(string(out), "\n"))
	}
}

// randomLog builds commands of all kinds and ends at the newest level.
func randomLog(commands int) (log []byte) {
	random := rand.New(rand.NewPCG(7, 2026))
	g := shardtest.NewGenerator(func(n int, _ string) int { return random.IntN(n) })
	add := func(cmd []byte) { log = append(binary.AppendUvarint(log, uint64(len(cmd))), cmd...) }
	for n := range commands {
		g.Fixed = n < commands/2 // The level rises only when there are campaigns and balances that a new level writes into the journal.
		add(g.Step().Command)
	}
	add(command.AppendSetFeature(nil, g.Model.Now, command.SetFeature{Level: command.LevelNewest}))
	for _, cmd := range adsCommands(random, g.Model.Now, uint32(len(g.Model.Campaigns)+1)) {
		add(cmd)
	}
	return log
}

// digestsOf applies a log and returns the digest after every command or, if random is not nil, after every batch of
// random size, with restarts and installed snapshots between them. Commands inside a batch have no digest.
func digestsOf(t *testing.T, log []byte, random *rand.Rand) (digests []string) {
	r := open(t, shardtest.NewKV())
	for len(log) > 0 {
		size, k := binary.Uvarint(log)
		r.Apply(log[k : k+int(size)])
		log = log[k+int(size):]
		if random != nil && random.IntN(4) > 0 && len(log) > 0 {
			digests = append(digests, "")
			continue
		}
		r.Commit()
		digests = append(digests, fmt.Sprintf("%016x", r.Machine.Digest()))
		if random == nil {
			continue
		}
		switch random.IntN(40) {
		case 0:
			r = open(t, r.KV.Copy()) // A restart, or another node.
		case 1:
			check(t, r.Machine.Load(r.KV)) // A snapshot installed under a running machine.
		}
	}
	return digests
}
