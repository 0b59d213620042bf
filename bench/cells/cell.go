package main

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// cell is a cluster, reduced to the state machine of its one group: the real one, with the commands that a node would propose. Raft
// is left out: within a cell it loses nothing, and this simulation is about what happens when a whole cell is lost.
type cell struct {
	replica  *shardtest.Replica
	backup   *shardtest.KV // The state when the last backup was taken.
	archived [][]byte      // Commands behind the backup that the archive has.
	pending  [][]byte      // Commands that it does not have yet.
	down     bool

	campaigns uint32 // The ordinal of the last campaign, and of the last bid: each campaign has one.
}

func newCell() (*cell, error) {
	r, err := shardtest.NewReplica(1, true, shardtest.NewKV())
	if err != nil {
		return nil, err
	}
	c := &cell{replica: r}
	return c, c.do(command.AppendSetFeature(nil, begin, command.SetFeature{Level: command.LevelNewest}))
}

// do applies a command of the management, which must not be refused.
func (c *cell) do(cmd []byte) error {
	c.pending = append(c.pending, cmd)
	r, err := command.ReadResult(c.replica.Do(cmd))
	if err == nil && r.Refusal != command.Done {
		err = fmt.Errorf("command %d: %v", cmd[1], r.Refusal)
	}
	return err
}

// report applies events of a marketplace, and reports whether they were accepted.
func (c *cell) report(now int64, marketplace uint16, records []command.EventRecord) (accepted bool, err error) {
	if c.down {
		return false, nil
	}
	cmd := command.AppendEvents(nil, now, &command.Events{Marketplace: marketplace, Records: records})
	c.pending = append(c.pending, cmd)
	results, err := command.ReadEventResults(nil, c.replica.Do(cmd))
	if errors.Is(err, command.ErrMarketplaceClosed) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for i := range results {
		if o := results[i].Outcome; o != command.Charged && o != command.Clipped && o != command.NothingLeft && o != command.Duplicate {
			return false, fmt.Errorf("an event is answered %v", o)
		}
	}
	return true, nil
}

// takeBackup stores the state; the archive begins anew.
func (c *cell) takeBackup() { c.backup, c.archived, c.pending = c.replica.KV.Copy(), nil, nil }

// archive stores what was added to the log.
func (c *cell) archive() { c.archived, c.pending = append(c.archived, c.pending...), nil }

// die loses the state and what was not archived.
func (c *cell) die() { c.replica, c.pending, c.down = nil, nil, true }

// restore makes the cell anew from backup and archive.
func (c *cell) restore() error {
	r, err := shardtest.NewReplica(1, true, c.backup.Copy())
	if err != nil {
		return err
	}
	for _, cmd := range c.archived {
		r.Do(cmd)
	}
	c.replica, c.down = r, false
	return nil
}

// What a marketplace and a campaign have at the beginning.
const (
	campaignsEach = 2
	clickPrice    = money.Micros(100_000)
	deposit       = 2_000 * clickPrice
	budget        = 500 * clickPrice // The largest marketplaces use it up.
)

// add creates a marketplace with a wallet and campaigns, and returns the ordinal of its first campaign.
func (c *cell) add(marketplace uint16) (first uint32, err error) {
	first = c.campaigns + 1
	c.campaigns += campaignsEach
	if err := c.do(command.AppendPutMarketplace(nil, begin, &model.Marketplace{
		Ordinal: marketplace, ID: idOf('m', marketplace, 0), Name: "m", CurrencyCode: "EUR", CurrencyExponent: 2, TimeZone: "UTC",
	})); err != nil {
		return 0, err
	}
	if err := c.do(command.AppendAdjustWallet(nil, begin, &command.AdjustWallet{
		Request: idOf('d', marketplace, 0), Marketplace: marketplace, VendorID: "v", Amount: deposit, Strict: true,
	})); err != nil {
		return 0, err
	}
	for n := range byte(campaignsEach) {
		id := idOf('c', marketplace, n)
		id[15] = byte(ids.ShardOf(ids.AccountOf(marketplace, "v")))
		if err := c.do(command.AppendCreateCampaign(nil, begin, &command.CreateCampaign{
			Campaign: model.Campaign{
				ID: id, Marketplace: marketplace, VendorID: "v", Name: "campaign", Active: true, Status: model.Approved, Charge: model.CPC,
				Budget: budget, Period: model.Total, CreatedMillis: begin,
			},
			Bids: []model.Bid{{ID: idOf('b', marketplace, n), Target: "p1", Amount: 2 * clickPrice, Active: true}},
		})); err != nil {
			return 0, err
		}
	}
	return first, nil
}

func idOf(kind byte, marketplace uint16, n byte) ids.UUID {
	return ids.UUID{0: kind, 1: byte(marketplace >> 8), 2: byte(marketplace), 3: n}
}

// click returns the n-th click of a marketplace, on a token of its own.
func click(marketplace uint16, n uint32, campaign uint32, now int64) command.EventRecord {
	var key [16]byte
	binary.BigEndian.PutUint16(key[:], marketplace)
	binary.BigEndian.PutUint32(key[2:], n)
	hour := event.BucketOf(now)
	return command.EventRecord{
		Key: key, ChargeKey: key, Kind: event.Click, Charge: model.CPC, Bucket: hour, Cell: hour * 4, OccurredMillis: now,
		Campaign: campaign, Bid: campaign, Price: clickPrice,
	}
}

// split makes a new cell of a backup in which one marketplace is open and all others are closed, as gavel restore --only does.
func (c *cell) split(now int64, only uint16) (*cell, error) {
	r, err := shardtest.NewReplica(1, true, c.replica.KV.Copy())
	if err != nil {
		return nil, err
	}
	made := &cell{replica: r, campaigns: c.campaigns}
	for _, m := range r.Queries().Marketplaces() {
		if err := made.setClosed(now, m.Ordinal, m.Ordinal != only); err != nil {
			return nil, err
		}
	}
	made.takeBackup()
	return made, nil
}

// setClosed closes a marketplace or opens it.
func (c *cell) setClosed(now int64, marketplace uint16, closed bool) error {
	m, _ := c.replica.Queries().Marketplace(marketplace)
	if m.Closed() == closed {
		return nil
	}
	m.Closings++
	return c.do(command.AppendPutMarketplace(nil, now, &m))
}

// audit checks the ledger of the cell, and that no campaign was billed more than its budget. It returns how many clicks each
// marketplace has that is open here.
func (c *cell) audit() (clicks map[uint16]int64, err error) {
	q, clicks := c.replica.Queries(), map[uint16]int64{}
	if err := q.Verify(); err != nil {
		return nil, err
	}
	for ordinal := range c.campaigns {
		x, _ := q.CampaignByOrdinal(ordinal + 1)
		if x.Money.SpentTotal > budget {
			return nil, fmt.Errorf("campaign %v was billed %v of %v", x.ID, x.Money.SpentTotal, budget)
		}
		if m, _ := q.Marketplace(x.Marketplace); !m.Closed() {
			clicks[x.Marketplace] += q.CampaignCounters(x.ID, 0, 1<<32-1).Clicks
		}
	}
	return clicks, nil
}
