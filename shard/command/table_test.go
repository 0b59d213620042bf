package command

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/gavel-ads/gavel/shard/model"
)

// roundTrips holds for each command with a table a function that writes and reads a random one.
var roundTrips = map[string]func(t *testing.T, random *rand.Rand){
	"advance":         roundTrip(AppendAdvance, ReadAdvance),
	"bootstrap":       roundTrip(AppendBootstrap, ReadBootstrap),
	"put marketplace": roundTrip(AppendReplaceMarketplace, ReadPutMarketplace),
	"put records":     roundTrip(AppendPutRecords, ReadPutRecords),
	"put categories":  roundTrip(AppendPutCategories, ReadPutCategories),
	"put products":    roundTrip(AppendPutProducts, ReadPutProducts),
	"patch products":  roundTrip(AppendPatchProducts, ReadPatchProducts),
	"delete catalog":  roundTrip(AppendDeleteCatalog, ReadDeleteCatalog),
	"adjust wallet":   roundTrip(AppendAdjustWallet, ReadAdjustWallet),
	"open account":    roundTrip(AppendOpenAccount, ReadOpenAccount),
	"transfer":        roundTrip(AppendTransfer, ReadTransfer),
	"forget emptied":  roundTrip(AppendForgetEmptied, ReadForgetEmptied),
	"pace":            roundTrip(AppendPace, ReadPace),
	"create campaign": roundTrip(AppendCreateCampaign, ReadCreateCampaign),
	"patch campaign":  roundTrip(AppendPatchCampaign, ReadPatchCampaign),
	"put bids":        roundTrip(AppendPutBids, ReadPutBids),
	"patch bid":       roundTrip(AppendPatchBid, ReadPatchBid),
	"mark vendors":    roundTrip(AppendMarkVendors, ReadMarkVendors),
	"commit segment":  roundTrip(AppendCommitSegment, ReadCommitSegment),
	"traffic":         roundTrip(AppendTraffic, ReadTraffic),
	"count auctions":  roundTrip(AppendCountAuctions, ReadCountAuctions),
	"decide credits":  roundTrip(AppendDecideCredits, ReadDecideCredits),
	"apply credits":   roundTrip(AppendApplyCredits, ReadApplyCredits),
	"close credits":   roundTrip(AppendCloseCredits, ReadCloseCredits),
	"apply returns":   roundTrip(AppendApplyReturns, ReadApplyReturns),
	"close returns":   roundTrip(AppendCloseReturns, ReadCloseReturns),
	"reverse":         roundTrip(AppendReverse, ReadReverse),
	"purchase": func(t *testing.T, random *rand.Rand) {
		p := randomOf[Purchase](random)
		d := NewDecoder(AppendPurchase(nil, &p))
		var got Purchase
		if d.Purchase(&got); d.Err() != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("%v\n got %+v\nwant %+v", d.Err(), got, p)
		}
	},
	"link users":  roundTrip(AppendLinkUsers, ReadLinkUsers),
	"forget user": roundTrip(AppendForgetUser, ReadForgetUser),

	"watch users":    roundTrip(AppendWatchUsers, ReadWatchUsers),
	"forget marks":   roundTrip(AppendForgetMarks, ReadForgetMarks),
	"define segment": roundTrip(AppendDefineSegment, ReadDefineSegment),
	"decide members": roundTrip(AppendDecideMembers, ReadDecideMembers),
	"open credit": func(t *testing.T, random *rand.Rand) {
		o := randomOf[OpenCredit](random)
		d := NewDecoder(AppendOpenCredit(nil, &o))
		var got OpenCredit
		if d.OpenCredit(&got); d.Err() != nil || !reflect.DeepEqual(got, o) {
			t.Errorf("%v\n got %+v\nwant %+v", d.Err(), got, o)
		}
	},
	"vendor": func(t *testing.T, random *rand.Rand) {
		v := randomOf[model.Vendor](random)
		d := NewDecoder(AppendVendor(nil, &v))
		var got model.Vendor
		if d.Vendor(&got); d.Err() != nil || !reflect.DeepEqual(got, v) {
			t.Errorf("%v\n got %+v\nwant %+v", d.Err(), got, v)
		}
	},
}

func roundTrip[T any](write func([]byte, int64, *T) []byte, read func(*Command) (T, error)) func(*testing.T, *rand.Rand) {
	return func(t *testing.T, random *rand.Rand) {
		t.Helper()
		x := randomOf[T](random)
		c, err := Open(write(nil, now, &x))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := read(&c); err != nil || !reflect.DeepEqual(got, x) {
			t.Errorf("%v\n got %+v\nwant %+v", err, got, x)
		}
	}
}

// Every member of every command survives encoding and decoding, alone and together with others. So a member that was
// added to a type and to no table fails this test.
func TestRandomCommandsReadBack(t *testing.T) {
	for name, try := range roundTrips {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			for range 500 {
				try(t, random)
			}
		})
	}
}

func FuzzRandomCommands(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		for _, try := range roundTrips {
			try(t, rand.New(rand.NewPCG(a, b)))
		}
	})
}

// grown is a type with a member that a later level added, inside another type.
type grown struct {
	Name  string
	Added *uint32
	Inner []inner
}

type inner struct{ Old, Added uint32 }

type grownPatch struct {
	Name  *string
	Added *uint32
}

var (
	inners = newTable("inner",
		fixed("old", u32[uint32](), func(x *inner) *uint32 { return &x.Old }),
		optional(0, "added", u32[uint32](), func(x *inner) *uint32 { return &x.Added }).since(LevelVersions),
	)
	growns = newTable("grown",
		fixed("name", text, func(x *grown) *string { return &x.Name }),
		fixed("inner", list(inners, 2), func(x *grown) *[]inner { return &x.Inner }),
	)
	patchables = newTable("patchable",
		patched(0, "old", u32[uint32](), func(x *inner) *uint32 { return &x.Old }, func(p *grownPatch) **uint32 { return new(*uint32) }),
		patched(1, "added", u32[uint32](), func(x *inner) *uint32 { return &x.Added }, func(p *grownPatch) **uint32 { return &p.Added }).
			optional().since(LevelVersions),
	)
	patchablePatches = newTable("patch", changes(patchesOf[grownPatch](patchables)))
)

// A command needs the level of the newest of its members. It is not read under another level, and a number that this
// binary does not know is an error.
func TestAddedMembersNeedTheirLevel(t *testing.T) {
	level := func(cmd []byte) Level { return Level(cmd[levelAt]) }
	old := grown{Name: "n", Inner: []inner{{Old: 1}, {Old: 2}}}
	with := grown{Name: "n", Inner: []inner{{Old: 1}, {Old: 2, Added: 3}}}
	for _, x := range []struct {
		cmd  []byte
		want Level
	}{
		{appendCommand(nil, OpNoop, now, growns, &old), LevelFormat1},
		{appendCommand(nil, OpNoop, now, growns, &with), LevelVersions},
		{appendCommand(nil, OpNoop, now, patchablePatches, &grownPatch{}), LevelFormat1},
		{appendCommand(nil, OpNoop, now, patchablePatches, &grownPatch{Added: new(uint32(0))}), LevelVersions},
	} {
		if level(x.cmd) != x.want {
			t.Errorf("level %d, want %d: %x", level(x.cmd), x.want, x.cmd)
		}
	}
	for _, x := range []*grown{&old, &with} {
		cmd := appendCommand(nil, OpNoop, now, growns, x)
		for stated := LevelFormat1; stated <= LevelNewest; stated++ {
			right := stated == level(cmd)
			other := append([]byte{}, cmd...)
			other[levelAt] = byte(stated)
			c, err := Open(seal(other, 0))
			if err != nil {
				t.Fatal(err)
			}
			got, err := readCommand(&c, growns)
			if right != (err == nil) || right && !reflect.DeepEqual(got, *x) {
				t.Errorf("stated level %d: %+v, %v", stated, got, err)
			}
		}
	}
	d := NewDecoder(append(AppendText(nil, "n"), 1, 1, 0, 0, 0, 2, 0)) // Number 1 of the inner value.
	if growns.read(&d, new(grown)); d.Err() == nil {
		t.Error("a member of a newer binary was dropped")
	}
	d = NewDecoder([]byte{4})
	if patchablePatches.read(&d, new(grownPatch)); d.Err() == nil {
		t.Error("a change of a newer binary was dropped")
	}
}

// A list may not be longer than its limit, and a count that the input cannot hold takes no memory.
func TestListsAreBounded(t *testing.T) {
	three := appendCommand(nil, OpNoop, now, growns, &grown{Inner: make([]inner, 3)})
	if c, err := Open(three); err != nil {
		t.Fatal(err)
	} else if _, err := readCommand(&c, growns); err == nil {
		t.Error("a list beyond its limit was read")
	}
	huge := NewDecoder([]byte{0, 0xff, 0xff, 0xff, 0xff, 0x0f})
	if n := testing.AllocsPerRun(10, func() { growns.read(&huge, new(grown)) }); n > 2 || huge.Err() == nil {
		t.Errorf("%v allocations for a count beyond the input, %v", n, huge.Err())
	}
}

// Contradictory rows stop the process at its start.
func TestNumbersAreUnique(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("two rows have the same number")
		}
	}()
	newTable("twice",
		optional(1, "a", u32[uint32](), func(x *inner) *uint32 { return &x.Old }),
		optional(1, "b", u32[uint32](), func(x *inner) *uint32 { return &x.Added }),
	)
}
