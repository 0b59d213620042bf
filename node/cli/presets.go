package cli

import (
	"fmt"

	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/node/config"
)

// presetFaults reports preset first keys that are not keys or of the wrong kind. They are checked at every start, also
// when the cluster has its keys already, so that the mistake is found before anything is written.
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
			faults = append(faults, &config.Fault{Key: p.setting, Problem: fmt.Sprintf("the value is not an API key; gavel keys generate --kind=%s prints one", p.kind)})
		case key.Kind != p.kind:
			faults = append(faults, &config.Fault{Key: p.setting, Problem: fmt.Sprintf("the value is an API key of kind %s, want kind %s", key.Kind, p.kind)})
		}
	}
	return faults
}
