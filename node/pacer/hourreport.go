package pacer

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
)

// hourReport is what one node sends to the leader of the meta group: its auctions in the current and the last local hour
// of each marketplace. Counts are totals of the hour, so a report that is lost or repeated changes nothing.
type hourReport struct {
	node  uint16
	start uint32 // The number of this start of the node.
	since int64  // When the process began to count, in Unix seconds.
	at    int64  // When the report was made. It is 0 in all but the last one of several that were made together.
	hours []marketHour
}

// marketHour is an hourCount with its marketplace.
type marketHour struct {
	marketplace uint16
	hourCount
}

// A message of an hourReport is hourReportVersion, node, start, since, at, and then the hours to its end. All numbers are
// uvarint.
const (
	hourReportVersion = 2
	// hourBytesMax is the most bytes of one hour, and hourHeadBytesMax of what comes before the hours.
	hourBytesMax     = 3 + 5 + model.AdFormats*6
	hourHeadBytesMax = 1 + 3 + 5 + 2*10
)

// split divides a report so that each message has at most a number of bytes.
func (r *hourReport) split(bytesMax int) (messages [][]byte) {
	most := max(1, (bytesMax-hourHeadBytesMax)/hourBytesMax)
	for part := range slices.Chunk(r.hours, most) {
		x := hourReport{node: r.node, start: r.start, since: r.since, hours: part}
		messages = append(messages, x.append(nil))
	}
	last := hourReport{node: r.node, start: r.start, since: r.since, at: r.at}
	if n := len(messages); n > 0 { // The last part says that all were sent.
		last.hours = r.hours[(n-1)*most:]
		messages = messages[:n-1]
	}
	return append(messages, last.append(nil))
}

func (r *hourReport) append(dst []byte) []byte {
	dst = append(dst, hourReportVersion)
	for _, n := range []uint64{uint64(r.node), uint64(r.start), uint64(max(r.since, 0)), uint64(max(r.at, 0))} {
		dst = binary.AppendUvarint(dst, n)
	}
	for i := range r.hours {
		h := &r.hours[i]
		dst = binary.AppendUvarint(dst, uint64(h.marketplace))
		dst = binary.AppendUvarint(dst, uint64(h.cell))
		for _, n := range h.auctions {
			dst = binary.AppendUvarint(dst, min(n, command.TrafficMax))
		}
	}
	return dst
}

// readHourReport reads a message. Numbers out of range make it unreadable.
func readHourReport(b []byte) (r hourReport, err error) {
	d := decoder{rest: b}
	if d.number(hourReportVersion) != hourReportVersion {
		return r, errUnreadable
	}
	r.node, r.start = uint16(d.number(math.MaxUint16)), uint32(d.number(math.MaxUint32))
	r.since, r.at = int64(d.number(math.MaxInt64)), int64(d.number(math.MaxInt64)) // Not negative.
	for len(d.rest) > 0 && !d.bad {
		h := marketHour{marketplace: uint16(d.number(math.MaxUint16))}
		h.cell = uint32(d.number(math.MaxUint32))
		for f := range h.auctions {
			h.auctions[f] = d.number(command.TrafficMax)
		}
		r.hours = append(r.hours, h)
	}
	if d.bad {
		return r, errUnreadable
	}
	return r, nil
}
