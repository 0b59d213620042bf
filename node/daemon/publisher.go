package daemon

import (
	"sync"
	"sync/atomic"

	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/node/pacer"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// publisher receives what the state machines of this node publish and hands it to its users: the market to auctions,
// API keys to authentication, secrets to the token keyring, and external campaign ids to the event path. It is safe for
// concurrent use: machines of different groups call it at the same time.
type publisher struct {
	*market.Market
	pacer     *pacer.Pacer
	keys      *auth.Table
	bytes     store.AssetBytes
	secrets   atomic.Pointer[secrets]
	externals externals
	assetURL  string        // Base URL of assets.
	loaded    *atomic.Int64 // Counts published campaigns, for the progress of a start.
	onBadKey  func(error)   // Called with the error of a stored API key that cannot be decoded.
}

// secrets are the cluster's secrets in the form that the event path uses.
type secrets struct {
	command.Secrets
	keyring *bidid.Keyring
}

// PutRecord publishes API keys and the records that decide which ads may be shown; other records are read from the
// durable state when somebody requests them. A nil value deletes the record.
func (f *publisher) PutRecord(kind command.RecordKind, marketplace uint16, id string, value []byte) {
	f.bytes.PutRecord(kind, marketplace, id, value)
	if kind != command.RecordAPIKey {
		store.PublishCreative(f.Market, f.assetURL, kind, marketplace, id, value)
		return
	}
	if value == nil {
		f.keys.Delete(id)
		return
	}
	if err := f.keys.Put(id, value); err != nil {
		f.onBadKey(err)
	}
}

// PutSecrets replaces the token keys and the duplicate key.
func (f *publisher) PutSecrets(s *command.Secrets) {
	keys := make([]bidid.Key, len(s.Token))
	for i, k := range s.Token {
		keys[i] = bidid.Key{ID: k.ID, Key: k.Key}
	}
	f.secrets.Store(&secrets{Secrets: *s, keyring: bidid.NewKeyring(keys)})
}

// Reset removes what a group has published, before the group is loaded again. With meta the API keys are removed too:
// until they are loaded, every request is answered 401.
func (f *publisher) Reset(g ids.Group, meta bool) {
	f.Market.Reset(g, meta)
	f.pacer.Reset(g)
	if meta {
		f.keys.Reset()
		f.bytes.Reset()
		f.secrets.Store(nil)
	}
}

// PutCampaign publishes a campaign and records its external id.
func (f *publisher) PutCampaign(c *model.Campaign) *market.Balances {
	f.externals.put(c.Marketplace, c.ExternalID, c.ID)
	f.loaded.Add(1)
	balances := f.Market.PutCampaign(c)
	f.pacer.PutCampaign(c, balances)
	return balances
}

// externals resolves the externalCampaignId of an event. Events of a terminated campaign still count for it, so the number of
// entries is bounded by the number of campaigns. It is safe for concurrent use.
type externals struct {
	mu  sync.RWMutex
	ids map[externalID]ids.UUID
	of  map[ids.UUID]externalID // What leads to a campaign now.
}

type externalID struct {
	marketplace uint16
	id          string
}

// put lets an external id lead to a campaign, in place of the one that it had. An empty one leads nowhere. Of two campaigns
// of different formats with one external id, the id leads to the one that was put last.
func (e *externals) put(marketplace uint16, id string, campaign ids.UUID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ids == nil {
		e.ids, e.of = make(map[externalID]ids.UUID), make(map[ids.UUID]externalID)
	}
	if was, had := e.of[campaign]; had && was.id != id {
		if e.ids[was] == campaign {
			delete(e.ids, was)
		}
		delete(e.of, campaign)
	}
	if id != "" {
		name := externalID{marketplace, id}
		e.ids[name], e.of[campaign] = campaign, name
	}
}

// resolve returns the id of the campaign with an external id, or the zero id.
func (e *externals) resolve(marketplace uint16, id []byte) ids.UUID {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.ids[externalID{marketplace, string(id)}]
}

// PutPeriods gives budget periods to the pacing controllers.
func (f *publisher) PutPeriods(g ids.Group, p *command.Periods) { f.pacer.PutPeriods(g, p) }

// PutCounted gives the pacing controllers the newest report of a node that was counted.
func (f *publisher) PutCounted(g ids.Group, r *command.CountedReport) { f.pacer.PutCounted(g, r) }
