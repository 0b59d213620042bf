package shard_test

import (
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// A golden log, testdata/golden/level-N.txt, holds the commands of a log at a feature level, and what they lead to.
// Every later binary must reach the same digests by replaying the commands, and must load the state at the end. A line
// that starts with a word is one of
//
//	command 17: patch campaign, ...  the command in words, for the reader; the bytes follow, in hexadecimal
//	repeat 3                         the command is applied 3 times more
//	digest 0f3c...                   the digest of the state after the commands so far
//	record 0a...                     a record of the state at the end: its key, and then its value
//
// Whoever adds a level that changes results or stored forms adds a log, written once, when the level is finished, with
//
//	go test ./shard -run TestGoldenLogs -golden=N
//
// A difference is a defect of the new code, not of the file.
var writeGolden = flag.Int("golden", 0, "write the golden log of this feature level")

const (
	goldenCommands = 360
	goldenEvery    = 50
)

func goldenFile(level command.Level) string {
	return filepath.Join("testdata", "golden", fmt.Sprintf("level-%d.txt", level))
}

// goldenLog is what a file holds.
type goldenLog struct {
	level    command.Level
	commands [][]byte
	digests  []string // After every goldenEvery commands and at the end.
	records  [][2][]byte
}

func TestGoldenLogs(t *testing.T) {
	if *writeGolden > 0 {
		level := command.Level(*writeGolden)
		log := newGoldenLog(t, level)
		log.digests, log.records = replay(open(t, shardtest.NewKV()), log.commands)
		check(t, os.WriteFile(goldenFile(level), []byte(log.text(t)), 0o600))
	}
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*.txt"))
	check(t, err)
	if len(files) == 0 {
		t.Fatal("there is no golden log")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { testGoldenLog(t, file) })
	}
}

func testGoldenLog(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	check(t, err)
	var want goldenLog
	_, err = fmt.Sscanf(filepath.Base(file), "level-%d.txt", &want.level)
	check(t, err)
	want.parse(t, string(text))
	r := open(t, shardtest.NewKV())
	got := want
	got.digests, got.records = replay(r, want.commands)
	if !slices.Equal(got.digests, want.digests) {
		t.Errorf("the log is applied in another way: digests %v, want %v", got.digests, want.digests)
	}
	if now := got.text(t); now != string(text) {
		t.Errorf("the log reads in another way: %s", firstDifference(now, string(text)))
	}
	stored := shardtest.NewKV()
	for _, x := range want.records {
		stored.Put(x[0], x[1])
	}
	old := open(t, stored)
	if old.Machine.Digest() != r.Machine.Digest() || old.Queries().FeatureLevel() != want.level {
		t.Errorf("the stored state loads as level %d with digest %016x, replayed %016x", old.Queries().FeatureLevel(),
			old.Machine.Digest(), r.Machine.Digest())
	}
	check(t, old.Queries().Verify())
}

// replay applies commands in batches of varying size and returns the digests on the way and the state at the end.
func replay(r *shardtest.Replica, commands [][]byte) (digests []string, records [][2][]byte) {
	for i, cmd := range commands {
		r.Apply(cmd)
		switch n := i + 1; {
		case n%goldenEvery == 0 || n == len(commands):
			r.Commit()
			digests = append(digests, fmt.Sprintf("%016x", r.Machine.Digest()))
		case n%7 == 0:
			r.Commit()
		}
	}
	r.KV.Scan(nil, []byte{0xff}, func(key, value []byte) bool {
		records = append(records, [2][]byte{key, value})
		return true
	})
	return digests, records
}

func (g *goldenLog) text(t *testing.T) string {
	var b strings.Builder
	digests := g.digests
	repeated := 0
	endRepeats := func() {
		if repeated > 0 {
			fmt.Fprintf(&b, "repeat %d\n", repeated)
		}
		repeated = 0
	}
	for i, cmd := range g.commands {
		if i > 0 && i%goldenEvery != 0 && slices.Equal(cmd, g.commands[i-1]) {
			repeated++
		} else {
			endRepeats()
			words, err := shardtest.Describe(cmd)
			check(t, err)
			fmt.Fprintf(&b, "command %d: %s\n", i+1, words)
			writeBytes(&b, cmd)
		}
		if n := i + 1; n%goldenEvery == 0 || n == len(g.commands) {
			endRepeats()
			fmt.Fprintf(&b, "digest %s\n", digests[0])
			digests = digests[1:]
		}
	}
	for _, x := range g.records {
		fmt.Fprintf(&b, "record %x\n", x[0])
		writeBytes(&b, x[1])
	}
	return b.String()
}

// writeBytes writes bytes in hexadecimal, in indented lines.
func writeBytes(b *strings.Builder, value []byte) {
	for some := range slices.Chunk(value, 48) {
		fmt.Fprintf(b, "  %x\n", some)
	}
}

func (g *goldenLog) parse(t *testing.T, text string) {
	var last *[]byte // What the bytes that follow belong to.
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch word {
		case "":
			some, err := hex.DecodeString(strings.TrimSpace(rest))
			check(t, err)
			*last = append(*last, some...)
		case "command":
			g.commands = append(g.commands, nil)
			last = &g.commands[len(g.commands)-1]
		case "repeat":
			var n int
			_, err := fmt.Sscan(rest, &n)
			check(t, err)
			for range n {
				g.commands = append(g.commands, g.commands[len(g.commands)-1])
			}
		case "digest":
			g.digests = append(g.digests, rest)
		case "record":
			key, err := hex.DecodeString(rest)
			check(t, err)
			g.records = append(g.records, [2][]byte{key, {}})
			last = &g.records[len(g.records)-1][1]
		default:
			t.Fatalf("the line %q", line)
		}
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d:\n got %s\nwant %s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// newGoldenLog raises the level step by step, with the same number of commands before each step and twice as many at
// the last level.
func newGoldenLog(t *testing.T, level command.Level) (log goldenLog) {
	t.Helper()
	random := rand.New(rand.NewPCG(uint64(level), 2026))
	g := shardtest.NewGenerator(func(n int, _ string) int { return random.IntN(n) })
	g.Fixed = true
	log.level = level
	add := func(cmd []byte) { log.commands = append(log.commands, cmd) }
	const first = command.LevelProducts
	steps := int(level-first) + 1
	for n := range goldenCommands {
		if every := goldenCommands / (steps + 2); n%every == 0 && n > 0 && n/every <= steps {
			next := first + command.Level(n/every-1) // A handful.
			g.Model.Feature(next)
			add(command.AppendSetFeature(nil, g.Model.Now, command.SetFeature{Level: next}))
		}
		step := g.Step()
		if needs, _ := command.Needs(step.Command); needs <= level { // A binary of that level does not know the others.
			add(step.Command)
		}
		if n%40 == 39 { // So that some attempts are dropped and some are still remembered.
			ticks := 1 + random.IntN(200)
			for cmd := g.Pause(ticks); ticks > 0; ticks-- {
				add(cmd)
			}
		}
	}
	for range goldenCommands / 2 {
		add(g.MoneyStep().Command)
	}
	if level >= command.LevelPacing { // So that the state at the end holds click rates of ads.
		for range goldenCommands / 4 {
			add(g.EventStep().Command)
		}
	}
	if level >= command.LevelReports {
		for range goldenCommands / 12 {
			add(g.AuctionsStep().Command)
		}
	}
	if level >= command.LevelUsers {
		for range goldenCommands / 4 {
			add(g.UserStep().Command)
		}
	}
	if level >= command.LevelInvalidTraffic {
		for range goldenCommands / 4 {
			add(g.ClickStep().Command)
		}
	}
	if level >= command.LevelHoldouts {
		for range goldenCommands / 4 {
			add(g.HoldoutStep().Command)
		}
	}
	if level >= command.LevelPlaces {
		for range goldenCommands / 4 {
			add(g.EventStep().Command)
			add(g.ReturnStep().Command)
		}
	}
	if level >= command.LevelExperiments {
		for range goldenCommands / 2 {
			add(g.ExperimentStep().Command)
		}
	}
	if level >= command.LevelEvents {
		for range goldenCommands / 4 {
			add(g.KeptEventStep().Command)
		}
	}
	if level >= command.LevelClosing {
		for closings := range uint32(3) {
			add(command.AppendPutMarketplace(nil, g.Model.Now, &model.Marketplace{Ordinal: 1, Name: "m", CurrencyCode: "USD", Closings: closings}))
			for range goldenCommands / 12 {
				add(g.MoneyStep().Command)
			}
		}
	}
	for _, cmd := range adsCommands(random, g.Model.Now, uint32(len(g.Model.Campaigns)+1)) { // Few.
		add(cmd)
	}
	if level >= command.LevelTargetReturn {
		for _, cmd := range returnCommands(g.Model.Now, uint32(len(g.Model.Campaigns)+5), g.Model.PaceNumber+1) { // Few.
			add(cmd)
		}
	}
	return log
}
