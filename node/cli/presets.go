package cli

import (
	"fmt"

	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/node/config"
)

// presetFaults are preset first keys that are no keys, or of the wrong kind. They are looked for at every start, also
// where a cluster has its keys already: the mistake shows before anything is written.
func presetFaults(c config.Config) (faults []*config.Fault) {
	for _, p := range []struct {
		setting, key string
		kind         auth.Kind
	}{
		{"bootstrap_auction_key", c.BootstrapAuctionKey.Reveal(), auth.Auction},
		{"bootstrap_management_key", c.BootstrapManagementKey.Reveal(), auth.Management},
	} {
		if p.key == "" {
			continue
		}
		key, ok := auth.Parse([]byte(p.key))
		switch {
		case !ok:
			faults = append(faults, &config.Fault{Key: p.setting, Problem: fmt.Sprintf("not a key; gavel keys generate --kind=%s prints one", p.kind)})
		case key.Kind != p.kind:
			faults = append(faults, &config.Fault{Key: p.setting, Problem: fmt.Sprintf("a key of kind %s, want %s", key.Kind, p.kind)})
		}
	}
	return faults
}
