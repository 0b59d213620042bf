package daemon

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
)

// FirstKeys are the keys of a new cluster. Their text exists only here: the cluster stores hashes.
type FirstKeys struct {
	Auction     string `json:"auctionKey"`
	Management  string `json:"managementKey"`
	Marketplace string `json:"marketplaceId"`
}

// bootstrap makes the first marketplace, the cluster's secrets and one key of each kind. It is one command, so a crash
// leaves all or nothing.
//
// The keys file is written and synced before the command is proposed: a crash in between leaves a file whose keys do not
// work and a node that will bootstrap again and overwrite it, never a cluster whose keys nobody has seen.
func (n *node) bootstrap(ctx context.Context) (*FirstKeys, error) {
	auction, err := firstKey(auth.Auction, n.cfg.BootstrapAuctionKey)
	if err != nil {
		return nil, fmt.Errorf("bootstrap_auction_key: %w", err)
	}
	management, err := firstKey(auth.Management, n.cfg.BootstrapManagementKey)
	if err != nil {
		return nil, fmt.Errorf("bootstrap_management_key: %w", err)
	}
	now := time.Now().UnixMilli()
	m := firstMarketplace(now)
	keys := &FirstKeys{Auction: auction.String(), Management: management.String(), Marketplace: m.ID.String()}
	if n.cfg.KeysFile != "" {
		if err := writeKeys(n.cfg.KeysFile, keys); err != nil {
			return nil, err
		}
	}
	b := command.Bootstrap{Marketplace: m, Secrets: newSecrets(), Keys: []command.Record{
		keyRecord(auction, m.Ordinal, "first auction key", now),
		keyRecord(management, m.Ordinal, "first management key", now),
	}}
	_, err = n.cluster.Propose(ctx, n.topology.Meta(), command.AppendBootstrap(nil, now, &b))
	return keys, err
}

// firstMarketplace has the settings of a shop that sells in euros; they are settings and can be changed.
func firstMarketplace(now int64) market.Marketplace {
	var entropy [10]byte
	_, _ = rand.Read(entropy[:]) // Never fails: it ends the process instead.
	return market.Marketplace{
		Ordinal: 1, ID: ids.Mint(now, entropy, 0), Name: "marketplace",
		CurrencyCode: "EUR", CurrencyExponent: 2, TimeZone: "UTC",
		ExternalDemand: market.ExternalDemand{OwnValue: "gavel"},
		CreatedMillis:  now, UpdatedMillis: now,
	}
}

func firstKey(kind auth.Kind, preset string) (auth.Key, error) {
	if preset == "" {
		return auth.Generate(kind, rand.Reader)
	}
	key, ok := auth.Parse([]byte(preset))
	if !ok {
		return auth.Key{}, errors.New("not a key; `gavel keys generate` prints one")
	}
	if key.Kind != kind {
		return auth.Key{}, fmt.Errorf("this is a key of kind %s, want %s", key.Kind, kind)
	}
	return key, nil
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

// writeKeys replaces the keys file in one step, readable by its owner only.
func writeKeys(path string, keys *FirstKeys) error {
	text, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		return err
	}
	temporary := path + ".tmp"
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("keys_file: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return fmt.Errorf("keys_file: %w", errors.Join(err, os.Remove(temporary)))
	}
	return nil
}
