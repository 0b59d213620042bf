package shard

import (
	"encoding/binary"
	"slices"

	"github.com/gavel-ads/gavel/shard/command"
)

// paced is what a group stores about the reports that its holds contain: the number of the last Pace, and the newest
// report of each node that was counted. A leader continues from it, so that no report is counted twice or never: not
// after a change of leaders, and not when a node repeats what it served.
type paced struct {
	number  uint64
	reports []countedReport // By node.
	hash    uint64          // Hash of the stored form; 0: none.
}

type countedReport struct {
	command.CountedReport
	millis int64 // The state clock when it was counted.
}

// forgetReportAfter is the age in milliseconds from which the newest report of a node is forgotten: the node is gone. One
// that comes back says itself what of its totals was counted.
const forgetReportAfter = 24 * 3600 * 1000

// count records reports as counted. It returns false, and changes nothing, when there would be reports of more than
// command.PaceNodesMax nodes.
func (p *paced) count(reports []command.CountedReport, now int64) bool {
	next := slices.Clone(p.reports)
	for _, r := range reports {
		at, found := slices.BinarySearchFunc(next, r.Node, func(x countedReport, node uint16) int {
			return int(x.Node) - int(node)
		})
		if !found {
			next = slices.Insert(next, at, countedReport{})
		}
		next[at] = countedReport{r, now}
	}
	next = slices.DeleteFunc(next, func(x countedReport) bool { return now-x.millis > forgetReportAfter })
	if len(next) > command.PaceNodesMax {
		return false
	}
	p.reports = next
	return true
}

// append appends the stored form.
func (p *paced) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, p.number)
	for i := range p.reports {
		dst = command.AppendCountedReport(dst, &p.reports[i].CountedReport)
		dst = command.AppendMillis(dst, p.reports[i].millis)
	}
	return dst
}

// readPacedReports reads what append wrote.
func readPacedReports(b []byte) (p paced, err error) {
	d := command.NewDecoder(b)
	p.number = d.U64()
	for d.More() {
		var r countedReport
		d.CountedReport(&r.CountedReport)
		r.millis = d.I64()
		p.reports = append(p.reports, r)
	}
	return p, d.Err()
}
