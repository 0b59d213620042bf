package daemon

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// FirstKeys are the API keys of a new cluster. Their text exists only here: the cluster stores hashes.
type FirstKeys struct {
	Auction     string `json:"auctionKey"`
	Management  string `json:"managementKey"`
	Marketplace string `json:"marketplaceId"`
}

// bootstrapCommand creates the first marketplace, the cluster's secrets and one key of each kind. It is one command, so
// a crash leaves all of them or none. Applied to a cluster that has a marketplace it changes nothing.
type bootstrapCommand struct {
	marketplace ids.UUID
	keys        *FirstKeys
	command     []byte
}

// prepareBootstrap makes the command, and writes its keys to a file before the command can be proposed.
//
// The file is synced under the name FILE.pending and renamed to FILE when the command is known to be the one that was
// applied (finishKeysFile), by this start or the next one. Therefore no cluster has keys that nobody has seen, and no
// keys file holds keys that do not work: neither after a crash in between, nor when two nodes led one after the other
// and both made a command.
func (n *node) prepareBootstrap() (*bootstrapCommand, error) {
	auction, err := firstKey(auth.Auction, n.cfg.BootstrapAuctionKey.Reveal())
	if err != nil {
		return nil, fmt.Errorf("bootstrap_auction_key: %w", err)
	}
	management, err := firstKey(auth.Management, n.cfg.BootstrapManagementKey.Reveal())
	if err != nil {
		return nil, fmt.Errorf("bootstrap_management_key: %w", err)
	}
	now := n.now().UnixMilli()
	m := firstMarketplace(now)
	keys := &FirstKeys{Auction: auction.String(), Management: management.String(), Marketplace: m.ID.String()}
	if n.cfg.KeysFile != "" {
		if err := writeKeys(pendingKeys(n.cfg.KeysFile), keys); err != nil {
			return nil, err
		}
	}
	b := command.Bootstrap{Marketplace: m, Secrets: newSecrets(), Keys: []command.Record{
		keyRecord(auction, m.Ordinal, "first auction key", now),
		keyRecord(management, m.Ordinal, "first management key", now),
	}}
	return &bootstrapCommand{marketplace: m.ID, keys: keys, command: command.AppendBootstrap(nil, now, &b)}, nil
}

// firstMarketplace returns a marketplace with euros and UTC; settings can be changed later.
func firstMarketplace(now int64) model.Marketplace {
	var entropy [10]byte
	_, _ = rand.Read(entropy[:]) // It never returns an error; it ends the process instead.
	return model.Marketplace{
		Ordinal: 1, ID: ids.Mint(now, entropy, 0), Name: "marketplace",
		CurrencyCode: "EUR", CurrencyExponent: 2, TimeZone: "UTC",
		ExternalDemand: model.ExternalDemand{OwnValue: "gavel"},
		CreatedMillis:  now, UpdatedMillis: now,
	}
}

func firstKey(kind auth.Kind, preset string) (auth.Key, error) {
	if preset == "" {
		return auth.Generate(kind, rand.Reader)
	}
	key, ok := auth.Parse([]byte(preset))
	if !ok {
		return auth.Key{}, errors.New("the value is not an API key; `gavel keys generate` prints one")
	}
	if key.Kind != kind {
		return auth.Key{}, fmt.Errorf("the value is an API key of kind %s, want kind %s", key.Kind, kind)
	}
	return key, nil
}

// checkPresets refuses preset keys that are no keys of the cluster. Presets count only at a cluster's first start; somebody
// who sets others later would otherwise learn of it from clients that are answered 401.
func (n *node) checkPresets() error {
	for _, preset := range []struct {
		setting, key string
		kind         auth.Kind
	}{
		{"bootstrap_auction_key", n.cfg.BootstrapAuctionKey.Reveal(), auth.Auction},
		{"bootstrap_management_key", n.cfg.BootstrapManagementKey.Reveal(), auth.Management},
	} {
		if preset.key == "" {
			continue
		}
		if n.publisher.keys.Check([]byte("Bearer "+preset.key), preset.kind, time.Now(), new(auth.Memo)).Code == apierr.InvalidAPIKey {
			return fmt.Errorf("%s: the cluster of %s exists already and this is none of its keys: presets count only at the first start. "+
				"Remove the setting, or start with an empty data directory; gavel keys create makes another key",
				preset.setting, n.cfg.DataDir)
		}
	}
	return nil
}

func keyRecord(k auth.Key, marketplace uint16, name string, now int64) command.Record {
	r := k.Record(name, marketplace, now, 0)
	return store.KeyRecord(&r)
}

func newSecrets() command.Secrets {
	var s command.Secrets
	var token command.TokenKey
	token.ID = 1
	for _, secret := range [][]byte{s.Duplicate[:], s.Cursor[:], token.Key[:]} {
		_, _ = rand.Read(secret)
	}
	s.Token = []command.TokenKey{token}
	return s
}
