package fsck_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/node/fsck"
	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// node is a store with a state machine in one group, on a disk in memory.
type node struct {
	fs    *vfs.MemFS
	model *shardtest.Generator
}

func config(fs vfs.FS) raftstore.Config {
	return raftstore.Config{
		Dir: "node", FS: fs, NodeID: "n1", Groups: []uint16{1}, Expect: 1,
		Machine: func(uint16) raftstore.StateMachine { return shard.New(1, true, shardtest.NewFeed()) },
	}
}

// newNode runs random commands of a seed and stops the node. With late the group has no feature level at first.
func newNode(t *testing.T, seed uint64, commands int, late bool) *node {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	n := &node{fs: vfs.NewMem(), model: shardtest.NewGenerator(func(k int, _ string) int { return random.IntN(k) })}
	n.model.Alone = true
	s, err := raftstore.Open(config(n.fs))
	check(t, err)
	check(t, s.Group(1).WaitReady(t.Context()))
	propose := func(cmd []byte) {
		_, err := s.Group(1).Propose(t.Context(), cmd)
		check(t, err)
	}
	if !late {
		n.model.Model.Feature(command.LevelNewest)
		propose(command.AppendSetFeature(nil, 1, command.SetFeature{Level: command.LevelNewest}))
	}
	for range commands {
		propose(n.model.Step().Command)
	}
	check(t, s.Close())
	return n
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (n *node) audit(t *testing.T) *fsck.Report {
	t.Helper()
	r, err := fsck.Directory(n.fs, "node")
	check(t, err)
	return r
}

// TestAgreesWithTheModel checks what the real machine and store wrote. The results must be those of the naive model, so
// the package reads the current format: a change of the format that it does not support fails here.
func TestAgreesWithTheModel(t *testing.T) {
	transfers, reversals := 0, 0
	for seed := range uint64(6) {
		n := newNode(t, seed, 600, seed%2 == 1)
		r := n.audit(t)
		if !r.Clean() {
			t.Fatalf("seed %d: %v", seed, r.Problems)
		}
		model := n.model.Model
		g := r.Groups[0]
		if len(r.Campaigns) != len(model.Campaigns) || g.Lines != uint64(len(model.Lines)) || g.Clock != model.Now ||
			g.Level != uint16(model.Level) {
			t.Errorf("seed %d: %+v", seed, g)
		}
		byWallet := map[string]fsck.Wallet{}
		for _, w := range r.Wallets {
			byWallet[w.ID] = w
		}
		for id, want := range model.Wallets {
			got := byWallet[id.String()]
			if got.Balance != want.Balance.Int64() || got.Deposited != want.Deposited.Int64() || got.Spent != want.Spent.Int64() ||
				got.Transferred != want.Transferred.Int64() || got.Vendor != want.Vendor {
				t.Errorf("seed %d: wallet %+v, want %+v", seed, got, want)
			}
		}
		if len(r.Wallets) != len(model.Wallets) || g.Transfers != len(model.Transfers) || g.Reversals != len(model.Reversals) {
			t.Errorf("seed %d: %d wallets, %d transfers and %d reversals, want %d, %d and %d", seed, len(r.Wallets), g.Transfers, g.Reversals,
				len(model.Wallets), len(model.Transfers), len(model.Reversals))
		}
		transfers, reversals = transfers+g.Transfers, reversals+g.Reversals
		if g.Charges == 0 || seed%2 == 0 && g.Unchecked != 0 {
			t.Errorf("seed %d: of %d charges %d were not checked", seed, g.Charges, g.Unchecked)
		}
		byID := map[string]fsck.Campaign{}
		for _, c := range r.Campaigns {
			byID[c.ID] = c
		}
		for _, want := range model.Campaigns {
			got, counts := byID[want.ID.String()], model.Count(want.ID, want.Marketplace)
			if got.Spent != want.SpentTotal.Int64() || got.Impressions != counts.Impressions || got.Clicks != counts.Clicks ||
				got.ChargedClicks != counts.ChargedClicks || got.SpentImpressions != int64(counts.SpentImpressions) ||
				got.Purchases != counts.Purchases || got.Vendor != want.VendorID || got.Budget != int64(want.Budget) {
				t.Errorf("seed %d: campaign %+v, want %+v, %+v", seed, got, want, counts)
			}
		}
	}
	if transfers == 0 {
		t.Error("no seed transfers money")
	}
	if reversals == 0 {
		t.Error("no seed reverses a charge")
	}
}

func TestRefusesDirectoriesInUseOrOfNoNode(t *testing.T) {
	n := newNode(t, 1, 10, false)
	s, err := raftstore.Open(config(n.fs))
	check(t, err)
	check(t, s.Group(1).WaitReady(t.Context()))
	if _, err := fsck.Directory(n.fs, "node"); !errors.Is(err, fsck.ErrInUse) {
		t.Errorf("a running node: %v", err)
	}
	check(t, s.Close())
	if _, err := fsck.Directory(n.fs, "elsewhere"); !errors.Is(err, fsck.ErrUnreadable) {
		t.Errorf("no directory: %v", err)
	}
	if names, _ := n.fs.List("elsewhere"); len(names) != 0 {
		t.Errorf("the check wrote %v", names)
	}
}

// silentLogger discards what Pebble logs.
type silentLogger struct{}

func (silentLogger) Infof(string, ...any)           {}
func (silentLogger) Errorf(string, ...any)          {}
func (silentLogger) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }

// forge changes the state with knowledge of the format: it corrects hashes and digests, so that only the check of the
// balances can find the change.
type forge struct {
	t      *testing.T
	db     *pebble.DB
	digest uint64
}

func (f *forge) key(key string) []byte { return append([]byte{0, 1, 1}, key...) }

func (f *forge) get(key string) []byte {
	f.t.Helper()
	v, closer, err := f.db.Get(f.key(key))
	check(f.t, err)
	v = append([]byte{}, v...)
	check(f.t, closer.Close())
	return v
}

func (f *forge) set(key string, value []byte) {
	f.t.Helper()
	old, closer, err := f.db.Get(f.key(key))
	if err == nil {
		f.digest ^= hashOf(key, old)
		check(f.t, closer.Close())
	}
	if value == nil {
		check(f.t, f.db.Delete(f.key(key), pebble.NoSync))
		return
	}
	f.digest ^= hashOf(key, value)
	check(f.t, f.db.Set(f.key(key), value, pebble.NoSync))
}

// add adds to a 64-bit number inside a value.
func (f *forge) add(key string, at int, n uint64) {
	v := f.get(key)
	if at < 0 {
		at += len(v)
	}
	binary.LittleEndian.PutUint64(v[at:], binary.LittleEndian.Uint64(v[at:])+n)
	f.set(key, v)
}

// all returns the keys of a table whose values satisfy pick.
func (f *forge) all(table byte, pick func(value []byte) bool) (keys []string) {
	f.t.Helper()
	it, err := f.db.NewIter(&pebble.IterOptions{LowerBound: f.key(string(table)), UpperBound: f.key(string(table + 1))})
	check(f.t, err)
	for valid := it.First(); valid; valid = it.Next() {
		if pick == nil || pick(it.Value()) {
			keys = append(keys, string(it.Key()[3:]))
		}
	}
	check(f.t, it.Close())
	if len(keys) == 0 {
		panic(errNoRecord)
	}
	return keys
}

// errNoRecord is the panic of a forge whose random state does not contain what is to be changed.
var errNoRecord = errors.New("no such record")

// forged returns the audit of a node with a change. Which kinds of records a random state contains depends on the seed, so
// it takes the first seed whose state has what is to be changed.
func forged(t *testing.T, change func(f *forge)) *fsck.Report {
	t.Helper()
	for seed := range uint64(seedsMax) {
		n, missing := newNode(t, 2+seed, 1300, false), false
		n.edit(t, true, func(f *forge) {
			defer func() {
				if p := recover(); p != nil {
					if missing = p == any(errNoRecord); !missing {
						panic(p)
					}
				}
			}()
			change(f)
		})
		if !missing {
			return n.audit(t)
		}
	}
	t.Fatalf("none of %d states contains what is to be changed", seedsMax)
	return nil
}

// seedsMax is the number of random states in which forged looks for a record. BOUND: some seconds.
const seedsMax = 20

func (f *forge) first(table byte, pick func(value []byte) bool) string { return f.all(table, pick)[0] }

func hashOf(key string, value []byte) uint64 {
	b := binary.BigEndian.AppendUint16(nil, uint16(len(key)))
	return xxhash.Sum64(append(append(b, key...), value...))
}

const (
	tableWallet    = 0x0a
	tableBudget    = 0x0d
	tableDedup     = 0x16
	tableCell      = 0x17
	tablePlaceCell = 0x48
	tableJournal   = 0x1a
	tableTransfer  = 0x1e
	tableEntry     = 0x21
	tableSold      = 0x34
	tableReversal  = 0x39
)

// edit opens the state of a stopped node and changes it; with seal it corrects the digest.
func (n *node) edit(t *testing.T, seal bool, change func(f *forge)) {
	t.Helper()
	db, err := pebble.Open("node/state", &pebble.Options{FS: n.fs, FormatMajorVersion: pebble.FormatNewest, Logger: silentLogger{}, DisableWAL: true})
	check(t, err)
	f := &forge{t: t, db: db}
	header := f.get("\x01")
	f.digest = binary.LittleEndian.Uint64(header[1:])
	change(f)
	if seal {
		binary.LittleEndian.PutUint64(header[1:], f.digest)
		check(t, db.Set(f.key("\x01"), header, pebble.NoSync))
	}
	check(t, errors.Join(db.Flush(), db.Close()))
}

// relink recomputes the chain from a line on, as an attacker with the whole journal could.
func (f *forge) relink(from uint64) {
	state := f.get("\x02")
	last := binary.LittleEndian.Uint64(state[24:])
	var chain [16]byte
	if from > 1 {
		chain = [16]byte(f.get(lineKey(from - 1))[65:])
	}
	for seq := from; seq <= last; seq++ {
		v := f.get(lineKey(seq))
		chain = fsck.Linked(chain, seq, v)
		copy(v[65:], chain[:])
		f.set(lineKey(seq), v)
	}
	copy(state[32:], chain[:])
	f.set("\x02", state)
}

func lineKey(seq uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte{tableJournal}, seq))
}

func charged(v []byte) bool {
	return (v[8] == 1 || v[8] == 2) && binary.LittleEndian.Uint64(v[57:]) > 0
}

// reversed reports whether a line gives a charge back.
func reversed(v []byte) bool { return v[8] >= 12 && v[8] <= 14 }

// reversal returns the first record of a reversal (0), or of a line that was reversed (1), whose value satisfies pick.
func (f *forge) reversal(kind byte, pick func(v []byte) bool) string {
	f.t.Helper()
	keys := slices.DeleteFunc(f.all(tableReversal, nil), func(key string) bool { return key[1] != kind || !pick(f.get(key)) })
	if len(keys) == 0 {
		panic(errNoRecord)
	}
	return keys[0]
}

// plainWallet reports whether a stored wallet, which ends with transferred i64, an empty currency and emptied u32, took
// part in no transfer.
func plainWallet(v []byte) bool {
	return v[len(v)-5] == 0 && binary.LittleEndian.Uint64(v[len(v)-13:]) == 0
}

// movedWallet reports whether a wallet has received or sent transfers.
func movedWallet(v []byte) bool { return v[len(v)-5] == 0 && !plainWallet(v) }

// TestFindsForgeries plants what a defect of the machine or an attacker could leave: the hashes are right, the balances
// are not.
func TestFindsForgeries(t *testing.T) {
	for name, x := range map[string]struct {
		change func(f *forge)
		want   string
	}{
		"a line changed, its chain not": {func(f *forge) { f.add(f.first(tableJournal, charged), 57, ^uint64(0)) }, "breaks the chain"},
		"a charge lowered, chain forged": {func(f *forge) {
			key := f.first(tableJournal, charged)
			f.add(key, 57, ^uint64(0))
			f.relink(binary.BigEndian.Uint64([]byte(key[1:])))
		}, "its lines say"},
		"a charge doubled, chain forged": {func(f *forge) {
			key := f.first(tableJournal, charged)
			state := f.get("\x02")
			last := binary.LittleEndian.Uint64(state[24:]) + 1
			f.set(lineKey(last), f.get(key))
			binary.LittleEndian.PutUint64(state[24:], last)
			f.set("\x02", state)
			f.relink(last)
		}, "DOUBLE CHARGE"},
		"a charge above its price, chain forged": {func(f *forge) {
			key := f.first(tableJournal, charged)
			f.add(key, 57, 1_000_000)
			f.relink(binary.BigEndian.Uint64([]byte(key[1:])))
		}, "of a price of"},
		"charges above the budget, chain forged": {func(f *forge) {
			for _, key := range f.all(tableJournal, charged) {
				f.add(key, 57, 1<<40)
				f.add(key, 49, 1<<40)
			}
			f.relink(1)
		}, "OVERSPEND"},
		"charges above the wallet, chain forged": {func(f *forge) { // Of some the wallet is billed later, and has no limit.
			for _, key := range f.all(tableJournal, charged) {
				f.add(key, 57, 1<<40)
				f.add(key, 49, 1<<40)
			}
			f.relink(1)
		}, "OVERDRAFT"},
		"a budget given again, chain forged": {func(f *forge) {
			key := f.first(tableJournal, func(v []byte) bool { return v[8] == 4 })
			f.add(key, 57, 1)
			f.relink(binary.BigEndian.Uint64([]byte(key[1:])))
		}, "does not follow"},
		"a day that carries over more than was left, chain forged": {func(f *forge) {
			key := f.first(tableJournal, func(v []byte) bool { return v[8] == 10 })
			f.add(key, 49, 1)
			f.add(key, 57, 1)
			f.relink(binary.BigEndian.Uint64([]byte(key[1:])))
		}, "carries over"},
		"a deposit repeated, chain forged": {func(f *forge) {
			deposits := f.all(tableJournal, func(v []byte) bool { return v[8] == 3 })
			first, second := f.get(deposits[0]), f.get(deposits[1])
			copy(second[:8], first[:8])       // The same time,
			copy(second[17:33], first[17:33]) // the same request.
			f.set(deposits[1], second)
			f.relink(1)
		}, "DOUBLE ADJUSTMENT"},
		"a line dropped": {func(f *forge) { f.set(f.first(tableJournal, charged), nil) }, "are missing"},
		"the last line dropped": {func(f *forge) {
			f.set(lineKey(binary.LittleEndian.Uint64(f.get("\x02")[24:])), nil)
		}, "ends at line"},
		"a wallet's balance":           {func(f *forge) { f.add(f.first(tableWallet, plainWallet), -45, 1) }, "holds"},
		"a wallet's deposits":          {func(f *forge) { f.add(f.first(tableWallet, plainWallet), -37, 1) }, "deposited"},
		"a wallet's charges":           {func(f *forge) { f.add(f.first(tableWallet, plainWallet), -29, 1) }, "spent"},
		"a wallet's transfers":         {func(f *forge) { f.add(f.first(tableWallet, movedWallet), -13, 1) }, "by transfers"},
		"a transfer of another amount": {func(f *forge) { f.add(f.first(tableTransfer, nil), 34, 1) }, "its record of state"},
		"a transfer that came twice, chain forged": {func(f *forge) {
			key := f.first(tableJournal, func(v []byte) bool { return v[8] == 6 && v[64] == 0 })
			state := f.get("\x02")
			last := binary.LittleEndian.Uint64(state[24:]) + 1
			f.set(lineKey(last), f.get(key))
			binary.LittleEndian.PutUint64(state[24:], last)
			f.set("\x02", state)
			f.relink(last)
		}, "DOUBLE TRANSFER"},
		"a transfer that took more than it gave, chain forged": {func(f *forge) {
			key := f.first(tableJournal, func(v []byte) bool { return v[8] == 6 && v[64] != 0 })
			f.add(key, 57, ^uint64(0))
			f.relink(binary.BigEndian.Uint64([]byte(key[1:])))
		}, "UNBALANCED TRANSFER"},
		"a transfer without a record": {func(f *forge) { f.set(f.first(tableTransfer, nil), nil) }, "no record"},
		"an entry of another line": {func(f *forge) {
			key := []byte(f.first(tableEntry, nil))
			binary.BigEndian.PutUint64(key[17:], ^uint64(1<<40))
			f.set(string(key), make([]byte, 17))
		}, "not a line of the account"},
		"a campaign's spending":        {func(f *forge) { f.add(f.first(tableBudget, nil), 20, 1) }, "its lines say"},
		"a campaign's period spending": {func(f *forge) { f.add(f.first(tableBudget, nil), 12, 1) }, "in this period"},
		"a campaign's budget":          {func(f *forge) { f.add(f.first(tableBudget, nil), 0, 1) }, "its budget is"},
		"a counter of a place":         {func(f *forge) { f.set(f.first(tablePlaceCell, nil), []byte{0xc8, 1}) }, "at its places"},
		"a counter of charged clicks":  {func(f *forge) { f.set(f.first(tableCell, nil), []byte{2, 2, 2, 2, 2, 2}) }, "the lines say"},
		"a wallet that is not there": {func(f *forge) {
			f.set(f.first(tableWallet, func(v []byte) bool { return plainWallet(v) && binary.LittleEndian.Uint64(v[len(v)-37:]) != 0 }), nil)
		}, "does not exist"},
		"a dedup key that is not there": {func(f *forge) { f.set(f.first(tableDedup, nil), nil) }, "the hour says"},
		"a charge key without a line": {func(f *forge) {
			f.set("\x16\x01"+strings.Repeat("\xff", 20), []byte{1, 100})
		}, "has no line"},
		"a remembered amount": {func(f *forge) {
			keys := slices.DeleteFunc(f.all(tableDedup, nil), func(key string) bool { return !chargeKeyOf(key) })
			if len(keys) == 0 {
				panic(errNoRecord)
			}
			v := f.get(keys[0])
			v[1] ^= 1
			f.set(keys[0], v)
		}, "is stored with"},
		"a reversal carried out twice, chain forged": {func(f *forge) {
			key := f.first(tableJournal, reversed)
			state := f.get("\x02")
			last := binary.LittleEndian.Uint64(state[24:]) + 1
			f.set(lineKey(last), f.get(key))
			binary.LittleEndian.PutUint64(state[24:], last)
			f.set("\x02", state)
			f.relink(last)
		}, "its record says"},
		"a reversal without a record": {func(f *forge) { f.set(f.reversal(0, func([]byte) bool { return true }), nil) }, "REVERSAL WITHOUT RECORD"},
		"a reversal that the budget has too much of, chain forged": {func(f *forge) {
			key := f.first(tableJournal, reversed)
			f.add(key, 49, 1<<40)
			f.relink(binary.BigEndian.Uint64([]byte(key[1:])))
		}, "again, it may be"},
		"a reversal of another charge": {func(f *forge) {
			f.add(f.reversal(0, func(v []byte) bool { return binary.LittleEndian.Uint64(v[18:]) > 0 }), 26, 1)
		}, "which is another charge"},
		"a charge of which less was reversed": {func(f *forge) {
			f.set(f.reversal(1, func([]byte) bool { return true }), []byte{0})
		}, "are reversed, its record says"},
		"a counter below zero": {func(f *forge) { f.set(f.first(tableSold, nil), []byte{1}) }, "are negative"},
	} {
		t.Run(name, func(t *testing.T) {
			r := forged(t, x.change)
			found := false
			for _, p := range r.Problems {
				found = found || strings.Contains(p.What, x.want)
			}
			if !found {
				t.Errorf("want %q in %v", x.want, r.Problems)
			}
		})
	}
}

// chargeKeyOf reports whether a key of the dedup table is a charge key, of a click or an impression of one token. Ids
// of events have another length or class.
func chargeKeyOf(key string) bool { return len(key) == 22 && (key[1] == 1 || key[1] == 2) }

// TestFindsCorruption flips one bit of every third record in turn; the digest finds each change.
func TestFindsCorruption(t *testing.T) {
	n := newNode(t, 3, 60, false)
	var keys []string
	n.edit(t, false, func(f *forge) {
		it, err := f.db.NewIter(nil)
		check(t, err)
		for valid := it.First(); valid; valid = it.Next() {
			if len(it.Value()) > 0 {
				keys = append(keys, string(it.Key()))
			}
		}
		check(t, it.Close())
	})
	if len(keys) < 50 {
		t.Fatalf("%d records", len(keys))
	}
	flip := func(key string) {
		n.edit(t, false, func(f *forge) {
			v, closer, err := f.db.Get([]byte(key))
			check(t, err)
			v = append([]byte{}, v...)
			check(t, closer.Close())
			v[len(v)/2] ^= 4
			check(t, f.db.Set([]byte(key), v, pebble.NoSync))
		})
	}
	for i := 0; i < len(keys); i += 3 {
		flip(keys[i])
		if r := n.audit(t); r.Clean() {
			t.Errorf("the change of record %x was not found", keys[i])
		}
		flip(keys[i])
	}
	if r := n.audit(t); !r.Clean() {
		t.Errorf("after all changes were undone: %v", r.Problems)
	}
}

// TestFindsDamagedFiles damages the files around the state.
func TestFindsDamagedFiles(t *testing.T) {
	for name, x := range map[string]struct {
		change func(t *testing.T, n *node)
		want   string
	}{
		"a log entry removed": {func(t *testing.T, n *node) {
			n.log(t, func(db *pebble.DB) { check(t, db.Delete(entryKey(20), pebble.Sync)) })
		}, "entries 20 to 20 are missing"},
		"a log entry changed": {func(t *testing.T, n *node) {
			n.log(t, func(db *pebble.DB) {
				v, closer, err := db.Get(entryKey(20))
				check(t, err)
				v = append([]byte{}, v...)
				check(t, closer.Close())
				v[len(v)-1] ^= 1
				check(t, db.Set(entryKey(20), v, pebble.Sync))
			})
		}, "entry 20: its commands fail their checksum"},
		"the log's end removed": {func(t *testing.T, n *node) {
			n.log(t, func(db *pebble.DB) { check(t, db.DeleteRange(entryKey(40), entryKey(1<<40), pebble.Sync)) })
		}, "log and snapshots end at 39"},
		"the guard missing": {func(t *testing.T, n *node) { check(t, n.fs.Remove("node/guard")) }, "guard"},
		"another group's state": {func(t *testing.T, n *node) {
			n.edit(t, false, func(f *forge) { check(t, f.db.Set([]byte{0, 7, 1, 2}, []byte("x"), pebble.NoSync)) })
		}, "belongs to no group"},
		"the applied record": {func(t *testing.T, n *node) {
			n.edit(t, false, func(f *forge) { check(t, f.db.Set([]byte{0, 1, 0, 'A'}, []byte("x"), pebble.NoSync)) })
		}, "cannot be decoded"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, 4, 60, false)
			x.change(t, n)
			if text := fmt.Sprint(n.audit(t).Problems); !strings.Contains(text, x.want) {
				t.Errorf("want %q in %s", x.want, text)
			}
		})
	}
}

func entryKey(index uint64) []byte { return binary.BigEndian.AppendUint64([]byte{1, 0, 1}, index) }

func (n *node) log(t *testing.T, change func(db *pebble.DB)) {
	t.Helper()
	db, err := pebble.Open("node/raftlog", &pebble.Options{FS: n.fs, FormatMajorVersion: pebble.FormatNewest, Logger: silentLogger{}})
	check(t, err)
	change(db)
	check(t, db.Close())
}
