package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/model"
)

// TestExportsFindHoursAsAScanDoes compares the searches of exports for lines and counters of a time with scans of everything.
func TestExportsFindHoursAsAScanDoes(t *testing.T) {
	w := managetest.New(t)
	var group ids.Group
	var all []ids.UUID
	for i := range 5 { // Of one vendor, so in one group.
		c := campaign("v1", fmt.Sprint("c", i))
		if err := w.Store.Tenant(managetest.Main).CreateCampaign(t.Context(), c, []model.Bid{{Target: "p", Amount: 5, Active: true}}); err != nil {
			t.Fatal(err)
		}
		group, all = c.Group, append(all, c.ID)
		ordinal, bid := ordinalsOf(t, w.Store.Groups, c)
		for hour := range 4 {
			if (i+hour)%3 == 0 {
				continue // Every campaign lacks other hours.
			}
			now := w.Now().UnixMilli()
			r := command.EventRecord{
				Key: [16]byte{1, byte(i), byte(hour)}, ChargeKey: [16]byte{2, byte(i), byte(hour)}, Kind: event.Click, Charge: model.CPC,
				OccurredMillis: now, Bucket: event.BucketOf(now), Cell: uint32(100 + 4*hour), Campaign: ordinal, Bid: bid, Price: 1,
			}
			e := command.Events{Marketplace: managetest.Main, Records: []command.EventRecord{r}}
			propose(t, w, command.AppendEvents(nil, now, &e), group)
			w.Advance(7 * time.Millisecond)
		}
	}
	slices.SortFunc(all, func(a, b ids.UUID) int { return slices.Compare(a[:], b[:]) })
	err := w.Store.Groups.Read(group, func(r shard.Reader) error {
		q := shard.Queries{R: r}
		for from := uint32(98); from < 120; from += 2 {
			for to := from; to < 120; to += 3 {
				compareCounted(t, q, all, from, to)
			}
		}
		if first, found := q.FirstCampaignCell(); !found || first != 100 {
			t.Errorf("the first cell is %d, %v", first, found)
		}
		compareFirstLines(t, q)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func compareCounted(t *testing.T, q shard.Queries, all []ids.UUID, from, to uint32) {
	t.Helper()
	var want []ids.UUID
	for _, id := range all {
		if len(q.CampaignCells(id, from, to)) > 0 {
			want = append(want, id)
		}
	}
	for limit := 1; limit < 8; limit++ {
		var got []ids.UUID
		var last ids.UUID
		for more := true; more; {
			var some []ids.UUID
			some, last, more = q.CampaignsCounted(last, from, to, limit)
			got = append(got, some...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("cells from %d to %d, %d at a time: %v, want %v", from, to, limit, got, want)
		}
	}
}

func compareFirstLines(t *testing.T, q shard.Queries) {
	t.Helper()
	var lines []ledger.Line
	q.Journal(1, func(l *ledger.Line) bool {
		lines = append(lines, *l)
		return true
	})
	if len(lines) < 10 || lines[0].Millis == lines[len(lines)-1].Millis {
		t.Fatalf("%d lines: the test needs more", len(lines))
	}
	for at := lines[0].Millis - 2; at < lines[len(lines)-1].Millis+3; at++ {
		want := uint64(1 + slices.IndexFunc(lines, func(l ledger.Line) bool { return l.Millis >= at }))
		if want == 0 {
			want = uint64(len(lines)) + 1
		}
		if got := q.FirstLine(at); got != want {
			t.Errorf("the first line since %d is %d, want %d", at, got, want)
		}
	}
}
