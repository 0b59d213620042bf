package simulation_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

const (
	eventClients = 3
	vendors      = 2
	readers      = 1
	// thinkTime is the mean pause of a client between two requests, not counting the pauses between repeated attempts.
	thinkTime  = 800 * time.Millisecond
	depositMax = 20_000
)

// client sends the requests of one data group to any node.
type client struct {
	*environment
	h      *history // The history of the group.
	rng    *rand.Rand
	number uint64    // The number of the client, part of its ids.
	last   uint64    // The number of the last id.
	done   []attempt // The last answered attempts.
}

// attempt is a management command that was answered.
type attempt struct {
	command []byte
	answer  command.Result
}

// attemptsKept is how many answered attempts of a client may be delivered again.
const attemptsKept = 4

func (w *environment) client(number uint64, h *history) *client {
	return &client{environment: w, h: h, number: number, rng: rand.New(rand.NewPCG(uint64(w.rng.Uint32()), number))}
}

// pause waits for a random time. It returns false when the clients must end.
func (c *client) pause(mean time.Duration) bool {
	select {
	case <-c.stop:
		return false
	case <-time.After(time.Duration(c.rng.Int64N(int64(2 * mean)))):
		return true
	}
}

// id returns a new id of the client.
func (c *client) id() (id [16]byte) {
	c.last++
	binary.BigEndian.PutUint64(id[:], c.rng.Uint64()) // Real ids are hashes, so they are uniformly distributed.
	binary.BigEndian.PutUint32(id[8:], uint32(c.number))
	binary.BigEndian.PutUint32(id[12:], uint32(c.last)<<8)
	return id
}

// proposeUntilAnswered sends a command to one node after the other until there is an answer. The bytes, with ids and time, stay
// the same. An answer counts only if its node was still running when it came. It returns nil if the simulation ends first.
func (c *client) proposeUntilAnswered(cmd []byte) (answer []byte) {
	for {
		members := c.members()
		i := members[c.rng.IntN(len(members))]
		if _, cl, run := c.running(i); cl != nil {
			answer, err := cl.Propose(context.Background(), ids.Group(c.h.group), cmd)
			if err == nil && c.c.SameGeneration(i, run) {
				if len(answer) == 0 {
					c.t.Errorf("node %d answers nothing to a command", i)
				}
				return answer
			}
			c.h.note(true)
		}
		if !c.retryPause() {
			return nil
		}
	}
}

// retryPause waits after an attempt that failed. It returns false when the simulation ends.
func (c *client) retryPause() bool {
	select {
	case <-c.finished:
		return false
	case <-time.After(time.Duration(c.rng.Int64N(int64(400 * time.Millisecond)))):
		return true
	}
}

// clock returns the time of any node's clock, as nodes put it into commands.
func (c *client) clock() int64 {
	members := c.members()
	return c.now(members[c.rng.IntN(len(members))]).UnixMilli()
}

// reportEvents reports events: with new tokens, with tokens that others report too, without a token, and repeated ones.
func (c *client) reportEvents() {
	var mine []command.EventRecord
	for c.pause(thinkTime) {
		e := command.Events{Marketplace: marketplace}
		now := c.clock()
		for range 1 + c.rng.IntN(4) {
			var r command.EventRecord
			if len(mine) > 0 && c.rng.IntN(6) == 0 {
				r = mine[max(0, len(mine)-1-c.rng.IntN(20))]
			} else if r = c.event(now); r.Key == [16]byte{} {
				continue
			}
			e.Records = append(e.Records, r)
			mine = append(mine, r)
		}
		c.h.attempt(e.Records)
		answer := c.proposeUntilAnswered(command.AppendEvents(nil, now, &e))
		if answer == nil {
			return
		}
		results, err := command.ReadEventResults(nil, answer)
		if err != nil || len(results) != len(e.Records) {
			c.t.Errorf("events are answered with %d results: %v", len(results), err)
			continue
		}
		c.h.answered(e.Records, results)
	}
}

// event returns an event. Its key is zero if there is no campaign yet.
func (c *client) event(now int64) command.EventRecord {
	r := command.EventRecord{
		Key: c.id(), Kind: event.Kind(c.rng.IntN(event.Kinds)), OccurredMillis: now, Bucket: event.BucketOf(now), Cell: event.BucketOf(now) * 4,
		UserHash: uint64(1 + c.rng.IntN(50)),
	}
	if c.rng.IntN(20) == 0 {
		r.OccurredMillis -= int64(c.rng.IntN(40)) * 24 * 3_600_000
		r.Bucket, r.Cell = event.BucketOf(r.OccurredMillis), event.BucketOf(r.OccurredMillis)*4
		return r
	}
	if c.rng.IntN(8) == 0 {
		return r
	}
	k := c.token(now)
	if k == nil {
		return command.EventRecord{}
	}
	r.Kind, r.Bucket, r.ChargeKey = k.kind, k.bucket, k.charge
	r.Campaign, r.Bid, r.Price = k.campaign.ordinal, k.bid, k.price
	if r.Charge = model.CPC; k.kind == event.Impression {
		r.Charge = model.CPM
	}
	return r
}

// token returns a new token of an auction, or one that was issued before.
func (c *client) token(now int64) *token {
	c.h.mu.Lock()
	campaigns, issued := c.h.campaigns, c.h.issued
	c.h.mu.Unlock()
	switch {
	case len(campaigns) == 0:
		return nil
	case len(issued) > 0 && c.rng.IntN(5) == 0:
		return issued[max(0, len(issued)-1-c.rng.IntN(50))]
	}
	k := &token{
		charge: c.id(), campaign: campaigns[c.rng.IntN(len(campaigns))], bid: 1, kind: event.Kind(c.rng.IntN(2)),
		price: money.Micros(1 + c.rng.IntN(1_000)), bucket: event.BucketOf(now - int64(c.rng.IntN(3))*1_800_000),
	}
	c.h.issue(k)
	return k
}

// manage is the manager of one vendor: it changes the wallet, campaigns, budgets and bids.
func (c *client) manage(vendor int) {
	var mine []*campaign
	// The leader of a real cluster does this first.
	if _, goes := c.result(command.AppendSetFeature(nil, c.clock(), command.SetFeature{Level: command.LevelNewest})); !goes {
		return
	}
	for goes := c.deposit(vendor, depositMax); goes; goes = goes && c.pause(2*thinkTime) {
		if len(mine) < 2 || len(mine) < 5 && c.rng.IntN(30) == 0 {
			x := c.createCampaign(vendor, len(mine)%2 == 0)
			if x == nil {
				return
			}
			mine = append(mine, x)
			continue
		}
		if len(c.done) > 0 && c.last%4 == 0 && !c.redeliver() {
			return
		}
		x := mine[c.rng.IntN(len(mine))]
		switch c.rng.IntN(8) {
		case 0, 1, 2:
			goes = c.deposit(vendor, money.Micros(1+c.rng.IntN(depositMax)))
		case 3:
			goes = c.deposit(vendor, money.Micros(-1-c.rng.IntN(depositMax)))
		case 4, 5, 6:
			goes = c.changeBudget(x)
		default:
			if goes = c.addBid(x); len(mine) > 3 && c.rng.IntN(10) == 0 {
				goes = c.terminate(x)
			}
		}
	}
}

// change sends a management command as an attempt, as node/store does, until it has an answer. It returns false when the
// simulation ends. An expired attempt is made anew, because nobody else has changed what one manager manages.
func (c *client) change(cmd []byte) (r command.Result, ok bool) {
	for {
		turn, ok := c.turn()
		if !ok {
			return r, false
		}
		c.last++
		a := command.Attempt{Seen: turn}
		binary.BigEndian.PutUint32(a.ID[:], uint32(c.number))
		binary.BigEndian.PutUint32(a.ID[4:], uint32(c.last))
		attempted := command.AppendAttempt(bytes.Clone(cmd), a)
		if r, ok = c.result(attempted); !ok || r.Refusal != command.Expired {
			c.done = append(c.done[max(0, len(c.done)+1-attemptsKept):], attempt{attempted, r})
			return r, ok
		}
		c.count("expired")
	}
}

// redeliver delivers an old attempt again, as a connection to a paused process may do when that continues. The answer must be
// the old one or a refusal, and it must have no effect: the checks at the end would find one.
func (c *client) redeliver() bool {
	x := c.done[0]
	r, ok := c.result(x.command)
	if ok && r != x.answer && r.Refusal != command.Expired {
		c.t.Errorf("an attempt that was answered %+v is answered %+v when it comes again", x.answer, r)
	}
	return ok
}

// turn returns the idempotency turn of the group at any node, however far that lags.
func (c *client) turn() (turn uint64, ok bool) {
	ok = c.readLocal(func(b shard.Queries) bool {
		turn = b.Turn()
		return true
	})
	return turn, ok
}

// readLocal reads the state of one node after the other, without a barrier, until look returns true. It returns false when
// the simulation ends first.
func (c *client) readLocal(look func(shard.Queries) bool) bool {
	for {
		members := c.members()
		for n := range members {
			i := members[(n+int(c.last))%len(members)] // Not negative.
			store, _, run := c.running(i)
			if store == nil {
				continue
			}
			var seen bool
			err := store.Group(c.h.group).Read(func(r raftstore.Reader) error {
				seen = look(shard.Queries{R: r})
				return nil
			})
			if err == nil && seen && c.c.SameGeneration(i, run) {
				return true
			}
		}
		if !c.retryPause() {
			return false
		}
	}
}

// result sends a management command until it has an answer. It returns false when the simulation ends.
func (c *client) result(cmd []byte) (r command.Result, ok bool) {
	answer := c.proposeUntilAnswered(cmd)
	if answer == nil {
		return r, false
	}
	r, err := command.ReadResult(answer)
	if err != nil || r.Refusal == command.Invalid {
		c.t.Errorf("a management command is answered with %+v: %v", r, err)
	}
	c.h.note(false)
	return r, true
}

func (c *client) deposit(vendor int, amount money.Micros) bool {
	id, d := ids.UUID(c.id()), &deposit{vendor: vendor, amount: amount}
	c.h.mu.Lock()
	c.h.deposits[id] = d
	c.h.mu.Unlock()
	r, ok := c.result(command.AppendAdjustWallet(nil, c.clock(), &command.AdjustWallet{
		Request: id, Marketplace: marketplace, VendorID: c.h.vendors[vendor], Amount: amount, Strict: true,
	}))
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	if ok {
		d.done, d.refused = r.Refusal == command.Done, r.Refusal != command.Done
		if d.refused && (r.Refusal != command.InsufficientBalance || amount > 0) {
			c.t.Errorf("an adjustment by %d is refused: %s", amount, r.Refusal)
		}
	}
	return ok
}

// createCampaign creates a campaign and reads its ordinal. It returns nil when the simulation ends.
func (c *client) createCampaign(vendor int, total bool) *campaign {
	now := c.clock()
	x := &campaign{id: ids.UUID(c.id()), vendor: vendor, total: total, bids: map[ids.UUID]bool{}}
	x.id[15] = byte(ids.ShardOf(ids.AccountOf(marketplace, c.h.vendors[vendor])))
	period := model.Daily
	if total {
		period = model.Total
	}
	amount := money.Micros(1_000 + c.rng.IntN(20_000))
	bid := model.Bid{ID: ids.UUID(c.id()), Target: "p", Amount: 100, Active: true, CreatedMillis: now, UpdatedMillis: now}
	x.bids[bid.ID] = true
	_, ok := c.change(command.AppendCreateCampaign(nil, now, &command.CreateCampaign{
		Campaign: model.Campaign{
			ID: x.id, Marketplace: marketplace, VendorID: c.h.vendors[vendor], Name: "c", Status: model.Approved, Active: true,
			Charge: model.CPC, Budget: amount, Period: period, CreatedMillis: now, UpdatedMillis: now,
		},
		Bids: []model.Bid{bid},
	}))
	if !ok {
		return nil
	}
	x.budgets = []budget{{amount: amount}}
	ok = c.read(func(b shard.Queries) {
		s, found := b.Campaign(x.id)
		if !found {
			c.t.Errorf("campaign %s was acknowledged and cannot be read", x.id)
		}
		x.ordinal = s.Ordinal
	})
	if !ok || x.ordinal == 0 {
		return nil
	}
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	c.h.campaigns = append(slices.Clip(c.h.campaigns), x)
	return x
}

// changeBudget gives a campaign another budget. It reads the journal before, to know which lines are older than the new one.
func (c *client) changeBudget(x *campaign) bool {
	amount := money.Micros(1 + c.rng.IntN(2*depositMax))
	if !c.read(func(shard.Queries) {}) {
		return false
	}
	c.h.mu.Lock()
	x.budgets = append(x.budgets, budget{amount: amount, after: len(c.h.seen)})
	c.h.mu.Unlock()
	r, ok := c.change(command.AppendPatchCampaign(nil, c.clock(), &command.PatchCampaign{
		Campaign: x.id, Marketplace: marketplace, Budget: &amount,
	}))
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	switch last := len(x.budgets) - 1; {
	case !ok:
	case r.Refusal == command.Done:
		x.budgets[last-1].replaced = time.Now()
	case r.Refusal == command.WrongState && x.terminated:
		x.budgets = x.budgets[:last]
	default:
		c.t.Errorf("a change of a budget is refused: %s", r.Refusal)
	}
	return ok
}

func (c *client) addBid(x *campaign) bool {
	now := c.clock()
	bid := model.Bid{ID: ids.UUID(c.id()), Target: "q", Amount: 100, Active: true, CreatedMillis: now, UpdatedMillis: now}
	r, ok := c.change(command.AppendPutBids(nil, now, &command.PutBids{Campaign: x.id, Marketplace: marketplace, Bids: []model.Bid{bid}}))
	if ok && r.Refusal == command.Done {
		c.h.mu.Lock()
		x.bids[bid.ID] = true
		c.h.mu.Unlock()
	}
	return ok
}

func (c *client) terminate(x *campaign) bool {
	_, ok := c.change(command.AppendPatchCampaign(nil, c.clock(), &command.PatchCampaign{
		Campaign: x.id, Marketplace: marketplace, Status: new(model.Terminated),
	}))
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	x.terminated = x.terminated || ok
	return ok
}
