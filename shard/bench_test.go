package shard_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// sink is a batch that discards all writes, so that only the work of the machine is measured. It finds no key, which is
// right for events that are all new.
type sink struct{ *shardtest.KV }

func (sink) Set(_, _ []byte)         {}
func (sink) Delete(_ []byte)         {}
func (sink) DeleteRange(_, _ []byte) {}

const benchNow = 1_795_132_800_000

// clicks builds commands of 50 charged clicks each on a few campaigns, every click with its own token. renew gives them
// new ids and tokens.
type clicks struct {
	e     command.Events
	cmd   []byte
	n     uint64
	users bool // The clicks name users, each of some twenty, so that they are stored as touches.
	kept  bool // The marketplace keeps its events.
}

func newClicks() *clicks {
	c := &clicks{e: command.Events{Marketplace: 1, Records: make([]command.EventRecord, 50)}}
	for i := range c.e.Records {
		c.e.Records[i] = command.EventRecord{
			Kind: event.Click, Charge: model.CPC, Bucket: event.BucketOf(benchNow), Cell: benchNow / 900_000,
			OccurredMillis: benchNow, Campaign: uint32(1 + i%8), Bid: uint32(1 + i%8), Price: 250_000,
			Rank: uint8(1 + i%4), AgeSeconds: uint32(i), Product: fmt.Appendf(nil, "product-%d", i%8),
		}
	}
	return c
}

func (c *clicks) renew() []byte {
	for i := range c.e.Records {
		c.n++
		r := &c.e.Records[i]
		binary.LittleEndian.PutUint64(r.Key[:], c.n*0x9e3779b97f4a7c15)
		binary.LittleEndian.PutUint64(r.ChargeKey[:], c.n*0xc2b2ae3d27d4eb4f)
		r.ChargeKey[15] = 1
		if c.users {
			r.UserHash = c.n/20*0x9e3779b97f4a7c15 + 1
		}
	}
	c.cmd = command.AppendEvents(c.cmd[:0], benchNow, &c.e)
	return c.cmd
}

// fund opens a machine at the newest level with eight campaigns of one vendor with a high balance.
func fund(tb testing.TB) *shardtest.Replica {
	r := open(tb, shardtest.NewKV())
	r.Do(command.AppendSetFeature(nil, benchNow, command.SetFeature{Level: command.LevelNewest}))
	r.Do(command.AppendAdjustWallet(nil, benchNow, &command.AdjustWallet{
		Request: ids.UUID{1}, Marketplace: 1, VendorID: "v", Amount: 1e18,
	}))
	for i := range byte(8) {
		r.Do(create(1, "v", i+1, 0))
	}
	return r
}

// create encodes a campaign with one bid; n determines its id.
func create(marketplace uint16, vendor string, n byte, budget int64) []byte {
	c := campaign(marketplace, vendor, n)
	c.Budget = micros(budget)
	return command.AppendCreateCampaign(nil, benchNow, &command.CreateCampaign{
		Campaign: c, Bids: []model.Bid{{ID: ids.UUID{'b', n}, Target: "p1", Amount: 250_000, Active: true}},
	})
}

// keepEvents makes the marketplace keep its events.
func keepEvents() []byte {
	return command.AppendPutMarketplace(nil, benchNow, &model.Marketplace{
		Ordinal: 1, Name: "m", CurrencyCode: "USD", EventDays: model.EventDaysMax,
	})
}

func BenchmarkApply(b *testing.B) {
	b.Run("clicks=50", func(b *testing.B) { benchmarkApply(b, newClicks()) })
	b.Run("clicks=50/users", func(b *testing.B) {
		c := newClicks()
		c.users = true
		benchmarkApply(b, c)
	})
	b.Run("clicks=50/kept", func(b *testing.B) {
		c := newClicks()
		c.kept = true
		benchmarkApply(b, c)
	})
}

func benchmarkApply(b *testing.B, c *clicks) {
	b.Helper()
	r := fund(b)
	if c.kept {
		r.Do(keepEvents())
	}
	b.ReportAllocs()
	var charged int
	var ready [256][]byte // Built in advance, because stopping the timer for every command takes longer than a command.
	for b.Loop() {
		next := charged / 50 % len(ready)
		if next == 0 {
			b.StopTimer()
			for i := range ready {
				ready[i] = append(ready[i][:0], c.renew()...)
			}
			b.StartTimer()
		}
		r.Machine.Apply(sink{r.KV}, ready[next])
		r.Machine.Flush(sink{r.KV})
		r.Machine.Committed()
		charged += 50
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(charged), "ns/charge")
}

var _ shard.Batch = sink{}

// BenchmarkLoad reads a state of 100,000 charges: three records each, of which two are dedup keys of the current hour.
func BenchmarkLoad(b *testing.B) {
	r, c := fund(b), newClicks()
	for range 2_000 {
		r.Do(c.renew())
	}
	r.KV.Scan(nil, nil, func(_, _ []byte) bool { return false }) // Sorts.
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Machine.Load(r.KV); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*r.KV.Len()), "ns/record")
}

// BenchmarkAttempt measures the cost of remembering management commands: changes of a bid without an attempt, and as
// attempts while the maximum number of attempts is remembered.
func BenchmarkAttempt(b *testing.B) {
	for _, attempted := range []bool{false, true} {
		b.Run(fmt.Sprint("attempted=", attempted), func(b *testing.B) {
			r := fund(b)
			r.Do(setFeature(command.LevelNewest))
			c := campaign(1, "v", 1)
			b.ReportAllocs()
			for n := uint64(0); b.Loop(); n++ {
				cmd := command.AppendPutBids(nil, benchNow, &command.PutBids{Campaign: c.ID, Marketplace: 1, Bids: []model.Bid{
					{ID: ids.UUID{'b', 1}, Target: "p1", Amount: micros(n), Active: true},
				}})
				if attempted {
					a := command.Attempt{Seen: n}
					binary.LittleEndian.PutUint64(a.ID[:], n*0x9e3779b97f4a7c15)
					cmd = command.AppendAttempt(cmd, a)
				}
				r.Machine.Apply(sink{r.KV}, cmd)
				r.Machine.Flush(sink{r.KV})
				r.Machine.Committed()
			}
		})
	}
}
