package command

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/pacing"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// Traffic says how many auctions all nodes together ran for a marketplace in one hour of its local time. It is proposed to
// the meta group, once for each hour that is over and marketplace, also for an hour without auctions. The state machine
// learns from it how traffic is distributed over the week.
//
// An hour counts once: the state machine remembers the newest Cell of a marketplace and ignores a Traffic of that cell or
// an older one, so that a repeat, a second proposer and a late one change nothing. So a proposer sends the cells in their
// order, and the whole count of a cell in one command. An hour of which nobody knows the counts, because the nodes were
// down, is left out.
type Traffic struct {
	Marketplace uint16
	// Cell is the start of the hour as Unix time / 900, like the cell of an event: local hours begin at multiples of a
	// quarter of an hour. It is not later than the proposer's clock.
	Cell uint32
	// Hour is the local hour of the week, below pacing.HoursOfWeek; 0 is Monday from 0:00 to 1:00. When clocks are set back,
	// an hour of the week comes twice, as two cells; when they are set forward, one is left out. CellOf computes Cell and Hour.
	Hour uint8
	// Minutes is how long the hour lasted, 1 to TrafficMinutesMax: 60, except where a time zone changes by half an hour.
	Minutes uint8
	// Auctions are the auctions by ad format, each at most TrafficMax. Hotels and flights are listings.
	Auctions [model.AdFormats]uint64
}

// Bounds of a Traffic.
const (
	TrafficMinutesMax = 180
	TrafficMax        = 1 << 40 // 300 million a second.
)

// CellOf returns the cell and the hour of the week of the local hour that contains a moment, in Unix seconds, when local
// time is offset seconds ahead of UTC. REQUIRES: the moment is after 1970; offset is a multiple of rollup.CellSeconds.
func CellOf(seconds, offset int64) (cell uint32, hour uint8) {
	const hourSeconds, mondayHours = 3600, 3 * 24 // 1970-01-01 was a Thursday.
	local := seconds + offset
	start := seconds - (local%hourSeconds+hourSeconds)%hourSeconds
	return uint32(max(start, 0) / rollup.CellSeconds), uint8((local/hourSeconds + mondayHours) % pacing.HoursOfWeek) // Below 168.
}

var traffics = newTable("traffic",
	fixed("marketplace", u16[uint16](), func(t *Traffic) *uint16 { return &t.Marketplace }),
	fixed("cell", u32[uint32](), func(t *Traffic) *uint32 { return &t.Cell }),
	fixed("hour", enum[uint8](pacing.HoursOfWeek), func(t *Traffic) *uint8 { return &t.Hour }),
	fixed("minutes", u8[uint8](), func(t *Traffic) *uint8 { return &t.Minutes }),
	fixed("auctions", counts, func(t *Traffic) *[model.AdFormats]uint64 { return &t.Auctions }),
).checked(func(t *Traffic) bool {
	for _, n := range t.Auctions {
		if n > TrafficMax {
			return false
		}
	}
	return t.Minutes > 0 && t.Minutes <= TrafficMinutesMax
})

// counts is the kind of a number for each ad format.
var counts = scalar("3 u64", 3*8,
	func(dst []byte, v [model.AdFormats]uint64) []byte {
		for _, n := range v {
			dst = binary.LittleEndian.AppendUint64(dst, n)
		}
		return dst
	},
	func(d *Decoder) (v [model.AdFormats]uint64) {
		for i := range v {
			v[i] = d.U64()
		}
		return v
	},
)

// AppendTraffic appends a Traffic, which needs LevelPacing.
func AppendTraffic(dst []byte, nowMillis int64, t *Traffic) []byte {
	return appendCommand(dst, OpTraffic, nowMillis, traffics, t)
}

// ReadTraffic reads a Traffic.
func ReadTraffic(c *Command) (Traffic, error) { return readCommand(c, traffics) }

var trafficDates = newTable("traffic date",
	fixed("day", u32[uint32](), func(x *model.TrafficDate) *uint32 { return &x.Day }),
	fixed("factor", number[uint32]("u32 to 100000", model.TrafficFactorMax),
		func(x *model.TrafficDate) *uint32 { return &x.FactorMilli }),
)
