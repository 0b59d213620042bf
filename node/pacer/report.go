package pacer

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// report is what one node has served of one group's campaigns since it started.
type report struct {
	group   ids.Group
	node    uint16
	start   uint32
	number  uint64 // From 1.
	base    uint64 // The number of the node's last report that was counted; 0: none of this start.
	traffic []trafficTotal
	spent   []spentTotal
}

// trafficTotal is a number of auctions, and the part of it that was counted in the base report or before.
type trafficTotal struct {
	key         trafficKey
	base, total uint64
}

// spentTotal is the total of a campaign, and the part of it that was counted in the base report or before.
type spentTotal struct {
	ordinal     uint32
	base, total spent
}

// A message is reportVersion and then reports. A report is group, node, start, number, base and two lists with their
// lengths; of each total the base and what was added to it. All numbers are uvarint.
const reportVersion = 1

var errUnreadable = errors.New("unreadable report")

func (r *report) append(dst []byte) []byte {
	for _, n := range []uint64{uint64(r.group), uint64(r.node), uint64(r.start), r.number, r.base, uint64(len(r.traffic))} {
		dst = binary.AppendUvarint(dst, n)
	}
	for _, x := range r.traffic {
		for _, n := range []uint64{uint64(x.key.marketplace), uint64(x.key.format), x.base, x.total - x.base} {
			dst = binary.AppendUvarint(dst, n)
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(r.spent)))
	for i := range r.spent {
		dst = r.spent[i].append(dst)
	}
	return dst
}

func (x *spentTotal) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(x.ordinal))
	dst = binary.AppendUvarint(dst, uint64(x.base.expected))                  // Not negative.
	dst = binary.AppendUvarint(dst, uint64(x.total.expected-x.base.expected)) // Not negative.
	dst = binary.AppendUvarint(dst, x.base.wins)
	return binary.AppendUvarint(dst, x.total.wins-x.base.wins)
}

// decoder reads uvarints. After the first error every read returns 0.
type decoder struct {
	rest []byte
	bad  bool
}

// number reads a number of at most limit.
func (d *decoder) number(limit uint64) uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 || v > limit {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// count reads the length of a list whose elements have at least size bytes.
func (d *decoder) count(size int) int { return int(d.number(uint64(len(d.rest) / size))) } // Compared.

// total reads a base and what was added to it, and returns the base and the sum.
func (d *decoder) total() (base, total uint64) {
	base = d.number(uint64(money.MaxMicros))
	return base, base + d.number(uint64(money.MaxMicros)-base)
}

// readReports reads a message.
func readReports(b []byte) (all []report, err error) {
	d := decoder{rest: b}
	if d.number(reportVersion) != reportVersion {
		return nil, errUnreadable
	}
	for len(d.rest) > 0 && !d.bad {
		all = append(all, d.report())
	}
	if d.bad {
		return nil, errUnreadable
	}
	return all, nil
}

func (d *decoder) report() report {
	r := report{
		group: ids.Group(d.number(math.MaxUint16)), node: uint16(d.number(math.MaxUint16)), start: uint32(d.number(math.MaxUint32)),
		number: d.number(math.MaxUint64), base: d.number(math.MaxUint64),
	}
	for range d.count(4) {
		key := trafficKey{uint16(d.number(math.MaxUint16)), model.AdFormat(d.number(uint64(model.SponsoredBrand)))}
		base, total := d.total()
		r.traffic = append(r.traffic, trafficTotal{key, base, total})
	}
	for range d.count(5) {
		x := spentTotal{ordinal: uint32(d.number(math.MaxUint32))}
		base, total := d.total()
		x.base.expected, x.total.expected = money.Micros(base), money.Micros(total) // At most money.MaxMicros.
		x.base.wins, x.total.wins = d.total()
		r.spent = append(r.spent, x)
	}
	return r
}
