package shard_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// Golden logs: for every feature level that was ever released, testdata/golden/level-N holds
//
//	.log     commands as in a log of that release: uvarint length and bytes, one after the other
//	.digest  the digest of the state after every goldenEvery commands and at the end
//	.state   all records of the state at the end: uvarint lengths of key and value, key, value
//
// Every later binary must reach the same digests by replaying the log, and must load the state. A release that adds a
// level writes its own files with
//
//	go test ./shard -run TestGoldenLogs -golden=N
//
// once, when the level is finished. A difference is a defect of the new code, not of the files.
var writeGolden = flag.Int("golden", 0, "write the golden log of this feature level")

const (
	goldenCommands = 900
	goldenEvery    = 50
)

func goldenFile(level command.Level, kind string) string {
	return filepath.Join("testdata", "golden", fmt.Sprintf("level-%d.%s", level, kind))
}

func TestGoldenLogs(t *testing.T) {
	if *writeGolden > 0 {
		writeGoldenLog(t, command.Level(*writeGolden))
	}
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*.log"))
	check(t, err)
	if len(files) == 0 {
		t.Fatal("there is no golden log")
	}
	for _, file := range files {
		var level command.Level
		_, err := fmt.Sscanf(filepath.Base(file), "level-%d.log", &level)
		check(t, err)
		t.Run(fmt.Sprint("level=", level), func(t *testing.T) {
			log, err := os.ReadFile(goldenFile(level, "log"))
			check(t, err)
			r := open(t, shardtest.NewKV())
			digests, state := replay(r, log)
			want, err := os.ReadFile(goldenFile(level, "digest"))
			check(t, err)
			if digests != string(want) {
				t.Errorf("the log of an older release is applied in another way:\n%s", firstDifference(digests, string(want)))
			}
			stored, err := os.ReadFile(goldenFile(level, "state"))
			check(t, err)
			if string(state) != string(stored) {
				t.Error("the state of the replay is not the one that was stored")
			}
			old := open(t, load(stored))
			if old.Machine.Digest() != r.Machine.Digest() || old.Queries().FeatureLevel() != level {
				t.Errorf("the stored state loads as level %d with digest %016x, replayed %016x", old.Queries().FeatureLevel(),
					old.Machine.Digest(), r.Machine.Digest())
			}
			check(t, old.Queries().Verify())
		})
	}
}

// replay applies a log in batches of varying size and returns the digests on the way and the state at the end.
func replay(r *shardtest.Replica, log []byte) (digests string, state []byte) {
	var out strings.Builder
	for n := 1; len(log) > 0; n++ {
		size, k := binary.Uvarint(log)
		cmd := log[k : k+int(size)]
		log = log[k+int(size):]
		r.Apply(cmd)
		if n%goldenEvery == 0 || len(log) == 0 {
			r.Commit()
			fmt.Fprintf(&out, "%d %016x\n", n, r.Machine.Digest())
		} else if n%7 == 0 {
			r.Commit()
		}
	}
	r.KV.Scan(nil, []byte{0xff}, func(key, value []byte) bool {
		state = binary.AppendUvarint(state, uint64(len(key)))
		state = binary.AppendUvarint(state, uint64(len(value)))
		state = append(append(state, key...), value...)
		return true
	})
	return out.String(), state
}

func load(stored []byte) *shardtest.KV {
	kv := shardtest.NewKV()
	for len(stored) > 0 {
		k, n := binary.Uvarint(stored)
		v, m := binary.Uvarint(stored[n:])
		stored = stored[n+m:]
		kv.Put(stored[:k], append([]byte{}, stored[k:k+v]...))
		stored = stored[k+v:]
	}
	return kv
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "command and digest " + g[i] + ", want " + w[i]
		}
	}
	return fmt.Sprintf("%d digests, want %d", len(g), len(w))
}

// writeGoldenLog raises the level step by step, with the same number of commands before each step and twice as many at
// the last level.
func writeGoldenLog(t *testing.T, level command.Level) {
	t.Helper()
	random := rand.New(rand.NewPCG(uint64(level), 2026))
	g := shardtest.NewGenerator(func(n int, _ string) int { return random.IntN(n) })
	g.Fixed = true
	var log []byte
	add := func(cmd []byte) { log = append(binary.AppendUvarint(log, uint64(len(cmd))), cmd...) }
	for n := range goldenCommands {
		if every := goldenCommands / (int(level) + 2); n%every == 0 && n > 0 && n/every <= int(level) {
			next := command.Level(n / every) // A handful.
			g.Model.Feature(next)
			add(command.AppendSetFeature(nil, g.Model.Now, command.SetFeature{Level: next}))
		}
		step := g.Step()
		if needs, _ := command.Needs(step.Command); needs <= level { // Others would be refused as TooEarly, and a binary of that level does not know them.
			add(step.Command)
		}
		if n%40 == 39 && level >= command.LevelAttempts { // So that some attempts are dropped and some are still remembered.
			ticks := 1 + random.IntN(200)
			for cmd := g.Pause(ticks); ticks > 0; ticks-- {
				add(cmd)
			}
		}
	}
	if level >= command.LevelWallets {
		for range goldenCommands / 2 {
			add(g.MoneyStep().Command)
		}
	}
	if level >= command.LevelAds {
		for _, cmd := range adsCommands(random, g.Model.Now, uint32(len(g.Model.Campaigns)+1)) {
			add(cmd)
		}
	}
	digests, state := replay(open(t, shardtest.NewKV()), log)
	check(t, os.MkdirAll(filepath.Join("testdata", "golden"), 0o755))
	check(t, os.WriteFile(goldenFile(level, "log"), log, 0o600))
	check(t, os.WriteFile(goldenFile(level, "digest"), []byte(digests), 0o600))
	check(t, os.WriteFile(goldenFile(level, "state"), state, 0o600))
}
