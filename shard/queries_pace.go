package shard

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/command"
)

// Paced returns the last decision of the pacing controller about a campaign. It is not found for a campaign that was
// never paced, or was terminated.
func (b Queries) Paced(ordinal uint32) (x command.Paced, found bool) {
	stored, found := b.R.Get(keyPace(nil, ordinal))
	if !found {
		return x, false
	}
	return must(readPaced(ordinal, stored)), true
}

// EachPaced calls fn with the last decision about every campaign that was paced, in the order of their ordinals, until
// fn returns false.
func (b Queries) EachPaced(fn func(*command.Paced) bool) {
	b.R.Scan([]byte{tablePace}, []byte{tablePace + 1}, func(key, value []byte) bool {
		x := must(readPaced(binary.BigEndian.Uint32(key[1:]), value))
		return fn(&x)
	})
}

// CountedReports returns the number of the last Pace and, by node, the newest reports that the holds contain.
func (b Queries) CountedReports() (number uint64, all []command.CountedReport) {
	stored, found := b.R.Get([]byte{tablePaced})
	if !found {
		return 0, nil
	}
	p := must(readPacedReports(stored))
	for i := range p.reports {
		all = append(all, p.reports[i].CountedReport)
	}
	return p.number, all
}
