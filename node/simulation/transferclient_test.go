package simulation_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/money"
)

const (
	completers = 2
	// transitMax is how many transfers of a group completeAll reads in one round.
	transitMax = 100
)

// transferClient moves money between accounts of all data groups, as node/store does. It has a client for each group.
type transferClient struct {
	*environment
	rng     *rand.Rand
	clients map[uint16]*client
}

func (w *environment) transferClient(number uint64) *transferClient {
	d := &transferClient{environment: w, rng: rand.New(rand.NewPCG(uint64(w.rng.Uint32()), number)), clients: map[uint16]*client{}}
	for _, h := range w.groups {
		d.clients[h.group] = w.client(number+uint64(h.group), h)
	}
	return d
}

// requestTransfers asks for one transfer after the other. It completes some itself and leaves the others to completeAll, as a
// node does that stops in between.
func (d *transferClient) requestTransfers() {
	defer close(d.transfers.closed)
	accounts := d.openAccounts()
	c := d.clients[1]
	for len(accounts) > 0 && c.pause(2*thinkTime) {
		if !d.move(accounts[d.rng.IntN(len(accounts))], accounts[d.rng.IntN(len(accounts))]) {
			return
		}
		if c = d.clients[uint16(1+d.rng.IntN(len(d.clients)))]; len(c.done) > 0 && d.rng.IntN(8) == 0 && !c.redeliver() {
			return
		}
	}
}

// openAccounts opens a further wallet for every vendor and a ledger account in each group. It returns all accounts and one of
// each group that was never opened, or none when the simulation ends.
func (d *transferClient) openAccounts() (all []account) {
	for _, h := range d.groups {
		c := d.clients[h.group]
		for v, name := range h.vendors {
			further := c.idOf(name)
			all = append(all, account{group: h.group, id: h.wallet(v)}, account{group: h.group, id: further})
			if !c.openAccount(&command.OpenAccount{Account: further, VendorID: name, Name: "savings"}) {
				return nil
			}
		}
		house, name := d.ledgerAccount(h.group)
		all = append(all, account{group: h.group, id: house}, account{group: h.group, id: c.idOf(h.vendors[0]), neverOpened: true})
		if !c.openAccount(&command.OpenAccount{Account: house, Name: name, Currency: "USD"}) {
			return nil
		}
	}
	return all
}

// ledgerAccount returns the id and the name of a ledger account in a group.
func (d *transferClient) ledgerAccount(group uint16) (id ids.UUID, name string) {
	for n := 0; ; n++ {
		name = fmt.Sprint("house ", n)
		if id = ids.LedgerAccountOf(marketplace, name); uint16(d.topology.GroupOf(ids.ShardOf(id))) == group {
			return id, name
		}
	}
}

// idOf returns a new id in the shard of a vendor.
func (c *client) idOf(vendor string) ids.UUID {
	id := ids.UUID(c.id())
	id[15] = byte(ids.ShardOf(ids.AccountOf(marketplace, vendor)))
	return id
}

func (c *client) openAccount(a *command.OpenAccount) bool {
	a.Marketplace, a.Request = marketplace, ids.UUID(c.id())
	r, ok := c.change(command.AppendOpenAccount(nil, c.clock(), a))
	if ok && r.Refusal != command.Done {
		c.t.Errorf("account %+v is refused: %s", a, r.Refusal)
	}
	return ok
}

// move asks for a transfer. It returns false when the simulation ends.
func (d *transferClient) move(from, to account) bool {
	if from.id == to.id {
		return true
	}
	c, m := d.clients[from.group], &movement{from: from, to: to, amount: money.Micros(1 + d.rng.IntN(depositMax))}
	x := command.Transfer{ID: ids.UUID(c.id()), Marketplace: marketplace, From: from.id, To: to.id, Amount: m.amount}
	if from.group != to.group {
		x.Step = command.TransferSend
	}
	d.transfers.ask(x.ID, m)
	now := c.clock()
	r, ok := c.change(command.AppendTransfer(nil, now, &x))
	if !ok {
		return false
	}
	d.transfers.mu.Lock()
	m.taken, m.refused = r.Refusal == command.Done, r.Refusal != command.Done
	d.transfers.mu.Unlock()
	switch {
	case r.Refusal == command.NotFound || r.Refusal == command.InsufficientBalance:
		return true
	case m.refused:
		c.t.Errorf("transfer %+v is refused: %s", m, r.Refusal)
		return true
	case x.Step == command.TransferWithin || d.rng.IntN(3) == 0:
		return true
	}
	return d.complete(x.ID, now)
}

// complete completes a transfer: the other group receives the money or refuses it, and the result is sent to the payer's
// group. Several may complete the same transfer at the same time. It returns false when the simulation ends.
func (d *transferClient) complete(id ids.UUID, sent int64) bool {
	m := d.transfers.find(id)
	if m == nil {
		return true
	}
	step := command.Transfer{
		ID: id, Step: command.TransferReceive, Marketplace: marketplace, From: m.from.id, To: m.to.id, Amount: m.amount, Millis: sent,
	}
	c := d.clients[m.to.group]
	r, ok := c.change(command.AppendTransfer(nil, c.clock(), &step))
	if !ok {
		return false
	}
	state := ledger.Received
	switch step.Step = command.TransferComplete; r.Refusal {
	case command.Done:
	case command.TooMany:
		step.Step, state = command.TransferReturn, ledger.Refused
	default:
		c.t.Errorf("transfer %s of %+v is answered %s", id, m, r.Refusal)
	}
	d.transfers.decide(id, m, state)
	c = d.clients[m.from.group]
	if r, ok = c.change(command.AppendTransfer(nil, c.clock(), &step)); ok && r.Refusal != command.Done {
		c.t.Errorf("the end of transfer %s of %+v is refused: %s", id, m, r.Refusal)
	}
	return ok
}

// completeAll completes the transfers that are in transit according to the state of any node, as the leader of the meta group
// does, and a node that wrongly believes to be that leader. It ends when no further transfers are asked for and none is in
// transit.
func (d *transferClient) completeAll() {
	for last := false; ; {
		select {
		case <-d.finished:
			return
		case <-time.After(time.Duration(d.rng.Int64N(int64(2 * time.Second)))):
		}
		left := 0
		for _, h := range d.groups {
			under, ok := d.transit(h.group, last)
			for i := range under {
				ok = ok && d.complete(under[i].ID, under[i].Millis)
			}
			if !ok {
				return
			}
			left += len(under)
		}
		if last && left == 0 {
			return
		}
		select {
		case <-d.transfers.closed:
			last = true
		default:
		}
	}
}

// transit returns the transfers of a group that are in transit, as any node has them, or behind a barrier if sure is set.
func (d *transferClient) transit(group uint16, sure bool) (under []ledger.Transfer, ok bool) {
	look := func(b shard.Queries) { under = slices.Clone(b.InTransit(marketplace, transitMax)) }
	if sure {
		ok = d.clients[group].read(look)
		return under, ok
	}
	ok = d.clients[group].readLocal(func(b shard.Queries) bool {
		look(b)
		return true
	})
	return under, ok
}
