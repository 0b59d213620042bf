package shard_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// The auctions of a report of a node are counted once, however often, late and after which restarts the report comes.
func TestAuctionsAreCountedOnce(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(create(1, "v", 1, 0))
	const cell = benchNow / 900_000 &^ 3
	counted := func(node uint16, start uint32, number, won uint64) command.Refusal {
		return result(t, r.Do(command.AppendCountAuctions(nil, benchNow, &command.CountAuctions{
			Node: node, Start: start, Number: number, Campaigns: []command.CampaignAuctions{
				{Campaign: 1, Cell: cell, Won: won, Lost: []command.LostAuctions{{Reason: 0, Auctions: 1}, {Reason: 14, Auctions: 4}}},
				{Campaign: 99, Cell: cell, Won: won}, // The group does not have it.
			},
		}))).Refusal
	}
	sums := func() string {
		var all strings.Builder
		for _, c := range r.Queries().CampaignAuctions(campaign(1, "v", 1).ID, 0, math.MaxUint32) {
			fmt.Fprint(&all, c.Cell-cell, " ", c.Won, " ", c.Lost[0], " ", c.Lost[14], " ", c.LostTotal())
		}
		return all.String()
	}
	expect(t, "before the level", counted(1, 7, 1, 3), command.TooEarly)
	expect(t, "nothing counted", sums(), "")
	r.Do(setFeature(command.LevelReports))

	expect(t, "the first", counted(1, 7, 1, 3), command.Done)
	expect(t, "sums", sums(), "0 3 1 4 4")
	expect(t, "the same again", counted(1, 7, 1, 3), command.Done)
	expect(t, "sums after a repeat", sums(), "0 3 1 4 4")
	expect(t, "one is left out", counted(1, 7, 3, 3), command.Conflict)
	r = open(t, r.KV.Copy())
	expect(t, "the same after a restart of the replica", counted(1, 7, 1, 3), command.Done)
	expect(t, "another node", counted(2, 1, 1, 10), command.Done)
	expect(t, "the second", counted(1, 7, 2, 5), command.Done)
	expect(t, "sums of three", sums(), "0 18 3 12 12")
	expect(t, "the next start begins at 1", counted(1, 8, 2, 5), command.Conflict)
	expect(t, "the next start", counted(1, 8, 1, 100), command.Done)
	expect(t, "the start before comes late", counted(1, 7, 3, 1_000), command.Conflict)
	expect(t, "sums of four", sums(), "0 118 4 16 16")
	q := r.Queries()
	expect(t, "numbers", []uint64{q.CountedAuctions(1, 8), q.CountedAuctions(1, 7), q.CountedAuctions(2, 1), q.CountedAuctions(3, 1)}, "[1 0 1 0]")
}
