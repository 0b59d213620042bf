package daemon

import (
	"crypto/rand"
	"io"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/node/config"
)

func preset(t *testing.T, kind auth.Kind) config.Secret {
	t.Helper()
	key, err := auth.Generate(kind, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return config.Secret(key.String())
}

// Presets that a cluster was created with may stay in the configuration. Others are refused at a later start: they would
// change nothing, and whoever set them would believe that they work.
func TestPresetsOfAnotherClusterAreRefused(t *testing.T) {
	cfg := testConfig(t.TempDir(), 1)
	cfg.BootstrapAuctionKey, cfg.BootstrapManagementKey = preset(t, auth.Auction), preset(t, auth.Management)
	for range 2 {
		r := run(t, cfg, Options{})
		r.must(200, "GET", r.manage+"/public/v1/key-service/keys", cfg.BootstrapManagementKey.Reveal(), "")
		r.stop()
	}
	for setting, change := range map[string]func(*config.Config){
		"bootstrap_auction_key":    func(c *config.Config) { c.BootstrapAuctionKey = preset(t, auth.Auction) },
		"bootstrap_management_key": func(c *config.Config) { c.BootstrapManagementKey = preset(t, auth.Management) },
	} {
		other := cfg
		change(&other)
		err := Run(t.Context(), other, Options{Out: io.Discard})
		if err == nil || !strings.HasPrefix(err.Error(), setting+": the cluster of "+cfg.DataDir+" exists already") || strings.Contains(err.Error(), "gavel_") {
			t.Errorf("%s: %v", setting, err)
		}
	}
}
