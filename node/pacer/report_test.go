package pacer

import (
	"reflect"
	"testing"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/shard/money"
)

var someReports = []report{
	{group: 1, node: 2, start: 3, number: 4, base: 3, traffic: []trafficTotal{{trafficKey{1, 2}, 5, 6}}, spent: []spentTotal{
		{1, spent{2, 3}, spent{4, 5}}, {1 << 31, spent{}, spent{money.MaxMicros, uint64(money.MaxMicros)}},
	}},
	{group: 2, node: 2, start: 3, number: 1},
}

func message(reports []report) []byte {
	b := []byte{reportVersion}
	for i := range reports {
		b = reports[i].append(b)
	}
	return b
}

func TestReportsReadBack(t *testing.T) {
	b := message(someReports)
	got, err := readReports(b)
	if err != nil || !reflect.DeepEqual(got, someReports) {
		t.Errorf("%+v, %v", got, err)
	}
	for cut := range b {
		if got, err := readReports(b[:cut]); err == nil && len(got) > 1 {
			t.Errorf("%d of %d bytes were read as %d reports", cut, len(b), len(got))
		}
	}
}

// Nothing that another node sends costs more memory than its length, or stops this node.
func FuzzReadReports(f *testing.F) {
	f.Add(message(someReports))
	f.Add([]byte{reportVersion, 1, 1, 1, 1, 1, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := readReports(b)
		if err != nil {
			return
		}
		again, err := readReports(message(all))
		if err != nil || !reflect.DeepEqual(again, all) {
			t.Errorf("%+v was read back as %+v, %v", all, again, err)
		}
		var x totals
		x.lead(nil)
		for i := range all {
			_ = x.add(&all[i]) // It may be refused.
		}
		x.take()
	})
}

// A report keeps the campaigns that have spent most, and fits into the message with whatever they spent.
func TestReportsAreBounded(t *testing.T) {
	r := report{group: 1, node: 0xffff, start: 1 << 31, number: 1 << 63, base: 1 << 63}
	for n := range 5_000 {
		r.spent = append(r.spent, spentTotal{
			1<<31 + uint32(n), spent{money.MaxMicros - 5_000, uint64(money.MaxMicros) - 9}, spent{money.MaxMicros - 5_000 + money.Micros(n), uint64(money.MaxMicros)},
		})
		r.traffic = append(r.traffic, trafficTotal{trafficKey{0xffff, 2}, 1 << 61, 1<<61 + uint64(n)})
	}
	removed := r.shorten(raftstore.ReportBytesMax)
	if size := len(r.append(nil)); size > raftstore.ReportBytesMax || size < raftstore.ReportBytesMax/2 {
		t.Errorf("%d bytes, at most %d", size, raftstore.ReportBytesMax)
	}
	if removed != 10_000-len(r.spent)-len(r.traffic) || len(r.spent) < 500 || r.spent[0].ordinal != 1<<31+4_999 {
		t.Errorf("%d totals removed, %d left, the first is of campaign %d", removed, len(r.spent), r.spent[0].ordinal)
	}
	small := someReports[0]
	if n := small.shorten(raftstore.ReportBytesMax); n != 0 || len(small.spent) != 2 {
		t.Errorf("%d totals removed of a small report", n)
	}
}
