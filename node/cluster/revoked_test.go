package cluster_test

import (
	"crypto/rand"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/node/cluster"
	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// keyFeed receives what state machines publish, and stores only API keys.
type keyFeed struct {
	*shardtest.Feed
	table *auth.Table
}

func (k keyFeed) PutRecord(kind command.RecordKind, _ uint16, id string, value []byte) {
	switch {
	case kind != command.RecordAPIKey:
	case value == nil:
		k.table.Delete(id)
	default:
		if err := k.table.Put(id, value); err != nil {
			panic(err)
		}
	}
}

func (k keyFeed) Reset(g ids.Group, meta bool) {
	k.Feed.Reset(g, meta)
	k.table.Reset()
}

// keyNodes is a cluster whose nodes check API keys.
type keyNodes struct {
	*mixedCluster
	tables [3]*auth.Table
	keys   []auth.Key
}

func newKeyNodes(t *testing.T) *keyNodes {
	d := &keyNodes{mixedCluster: newMixedCluster(t, 3, newLevel, newLevel, newLevel)}
	configure := d.c.Configure
	d.c.Configure = func(i int, c *raftstore.Config) {
		configure(i, c)
		d.tables[i] = auth.NewTable()
		c.Machine = func(g uint16) raftstore.StateMachine {
			return shard.New(ids.Group(g), true, keyFeed{shardtest.NewFeed(), d.tables[i]})
		}
	}
	d.startAll(3)
	first := command.Bootstrap{Marketplace: model.Marketplace{Ordinal: 1, ID: ids.UUID{1}, Name: "m", CurrencyCode: "USD", TimeZone: "UTC"}}
	for range 4 {
		key, err := auth.Generate(auth.Auction, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		d.keys = append(d.keys, key)
		r := key.Record("k", 1, time.Now().UnixMilli(), 0)
		first.Keys = append(first.Keys, command.Record{Kind: command.RecordAPIKey, Marketplace: 1, ID: key.ID.String(), Value: r.Append(nil)})
	}
	d.propose(0, command.AppendBootstrap(nil, time.Now().UnixMilli(), &first))
	for i, n := range d.nodes {
		if err := n.cluster.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.tables[i].RequireCurrent(n.cluster.KeysCurrent)
	}
	time.Sleep(time.Second)
	return d
}

func (d *keyNodes) propose(i int, cmd []byte) {
	d.Helper()
	answer, err := d.nodes[i].cluster.Propose(d.Context(), group, cmd)
	if err != nil || command.Refusal(answer[0]) != command.Done {
		d.Fatalf("at node %d: %x, %v", i, answer, err)
	}
}

// revoke revokes a key at a node.
func (d *keyNodes) revoke(i, key int) {
	d.Helper()
	d.propose(i, command.AppendPutRecords(nil, time.Now().UnixMilli(), &command.PutRecords{Records: []command.Record{
		{Kind: command.RecordAPIKey, Marketplace: 1, ID: d.keys[key].ID.String(), Expect: command.Any},
	}}))
}

// check returns the result of checking a key at a node now.
func (d *keyNodes) check(i, key int) apierr.Code {
	var memo auth.Memo
	return d.tables[i].Check([]byte("Bearer "+d.keys[key].String()), auth.Auction, time.Now(), &memo).Code
}

// checkInterval is how often waitFor checks; a node may accept a key that much longer.
const checkInterval = 10 * time.Millisecond

// waitFor waits until the check of a key at a node has a result, and returns how long it took.
func (d *keyNodes) waitFor(i, key int, want apierr.Code, most time.Duration) time.Duration {
	d.Helper()
	start := time.Now()
	for d.check(i, key) != want {
		if time.Since(start) > most {
			d.Fatalf("node %d answers %v to key %d after %s, want %v", i, d.check(i, key), key, most, want)
		}
		time.Sleep(checkInterval)
	}
	return time.Since(start)
}

func (d *keyNodes) leader() int {
	for i := range d.nodes {
		if store, _ := d.c.Store(i); store.Group(group).Ready() {
			return i
		}
	}
	d.Fatal("no node leads")
	return 0
}

// Promise P22, revocation: a revoked key is refused on every node within a second. A node that is cut off, follower or
// leader, refuses every key after 30 s at most, and checks keys again, including what was revoked meanwhile, when it is
// connected again.
func TestRevokedKeys(t *testing.T) {
	const second = time.Second
	synctest.Test(t, func(t *testing.T) {
		d := newKeyNodes(t)
		for i := range d.nodes {
			for key := range d.keys {
				if code := d.check(i, key); code != apierr.OK {
					t.Fatalf("node %d answers %v to good key %d", i, code, key)
				}
			}
		}
		d.revoke(0, 0)
		for i := range d.nodes {
			d.waitFor(i, 0, apierr.InvalidAPIKey, second)
		}
		for _, role := range []string{"follower", "leader"} {
			lost, key := d.leader(), 2
			if role == "follower" {
				lost, key = (lost+1)%3, 1
			}
			other := (lost + 1) % 3
			for i := range d.nodes {
				if i != lost {
					d.c.Net.Cut(d.c.Nodes[lost].Address, d.c.Nodes[i].Address, true)
					d.c.Net.Cut(d.c.Nodes[i].Address, d.c.Nodes[lost].Address, true)
				}
			}
			cut := time.Now()
			time.Sleep(6 * second) // Time to elect another leader, if necessary.
			d.revoke(other, key)
			d.waitFor(other, key, apierr.InvalidAPIKey, second)
			d.waitFor(lost, key, apierr.ServiceUnavailable, cluster.KeysMax)
			if after := time.Since(cut); after > cluster.KeysMax+checkInterval || after < cluster.KeysMax-10*second {
				t.Errorf("the %s that was cut off refuses keys after %s", role, after)
			} else {
				t.Logf("the %s that was cut off refuses keys after %s", role, after)
			}
			if code := d.check(lost, 3); code != apierr.ServiceUnavailable {
				t.Errorf("the %s that was cut off answers %v to a good key", role, code)
			}
			for range 60 {
				time.Sleep(second)
				if d.check(lost, key) != apierr.ServiceUnavailable || d.check(other, 3) != apierr.OK {
					t.Fatalf("the wrong node accepts keys: %v, %v", d.check(lost, key), d.check(other, 3))
				}
			}
			d.c.Net.Heal()
			t.Logf("the %s is back after %s", role, d.waitFor(lost, 3, apierr.OK, 15*second))
			if code := d.check(lost, key); code != apierr.InvalidAPIKey {
				t.Errorf("the %s that is back answers %v to a key that was revoked meanwhile", role, code)
			}
		}
		d.stopAll()
	})
}
