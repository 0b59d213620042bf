package shard

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/pacing"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// Traffic is what the meta group has learned of the auctions of a marketplace. It is a cold record: it changes once an
// hour.
type Traffic struct {
	Cell    uint32         // The newest hour that was learned, as command.Traffic names it.
	All     pacing.Traffic // Of all formats together, the parent of those of the formats.
	Formats [model.AdFormats]pacing.Traffic
}

// learnTraffic learns from the auctions of one hour. An hour that was learned already, or that is older than one that was,
// changes nothing, so that a repeat and a second proposer do no harm. An hour that begins later than a minute after the
// state clock is refused, because all hours before it could not be learned any more.
func (m *Machine) learnTraffic(x *command.Traffic) command.Result {
	const aheadMillis = 60_000
	if int64(x.Cell)*rollup.CellSeconds*1000 > m.state.now+aheadMillis {
		return refused(command.Invalid, 0)
	}
	if _, known := m.get(keyMarketplace(nil, x.Marketplace)); !known {
		return refused(command.NotFound, 0)
	}
	key := keyTraffic(nil, x.Marketplace)
	var t Traffic
	if stored, found := m.get(key); found {
		mustTraffic(&t, stored)
	}
	if x.Cell <= t.Cell {
		return command.Result{}
	}
	t.Cell = x.Cell
	all := uint64(0)
	for format, auctions := range x.Auctions {
		t.Formats[format].Learn(int(x.Hour), auctions, uint32(x.Minutes))
		all += auctions
	}
	t.All.Learn(int(x.Hour), all, uint32(x.Minutes))
	m.put(key, appendTraffic(nil, &t))
	m.publishTraffic(x.Marketplace, &t)
	return command.Result{}
}

// publishTraffic publishes the weights of the hours of the week.
func (m *Machine) publishTraffic(marketplace uint16, t *Traffic) {
	for format := range t.Formats {
		w := t.Weights(model.AdFormat(format)) // Below model.AdFormats.
		m.feed.PutTraffic(marketplace, model.AdFormat(format), &w)
	}
}

// Weights returns the expected traffic of a format.
func (t *Traffic) Weights(format model.AdFormat) pacing.Weights {
	all := t.All.Weights(nil, pacing.MarketPrior)
	return t.Formats[format].Weights(&all, pacing.FormatPrior)
}

func mustTraffic(t *Traffic, stored []byte) {
	if err := readTraffic(t, stored); err != nil {
		panic("shard: stored traffic: " + err.Error())
	}
}

func appendTraffic(dst []byte, t *Traffic) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, t.Cell)
	dst = appendTrafficOf(dst, &t.All)
	for i := range t.Formats {
		dst = appendTrafficOf(dst, &t.Formats[i])
	}
	return dst
}

func appendTrafficOf(dst []byte, t *pacing.Traffic) []byte {
	dst = binary.AppendUvarint(dst, t.Seen)
	for i := range t.Hours {
		dst = binary.AppendUvarint(dst, t.Hours[i].Rate)
		dst = append(dst, t.Hours[i].Weeks)
	}
	return dst
}

func readTraffic(t *Traffic, stored []byte) error {
	d := command.NewDecoder(stored)
	t.Cell = d.U32()
	readTrafficOf(&d, &t.All)
	for i := range t.Formats {
		readTrafficOf(&d, &t.Formats[i])
	}
	return d.Err()
}

func readTrafficOf(d *command.Decoder, t *pacing.Traffic) {
	t.Seen = d.Uvarint()
	for i := range t.Hours {
		t.Hours[i] = pacing.HourTraffic{Rate: d.Uvarint(), Weeks: d.U8()}
	}
}
