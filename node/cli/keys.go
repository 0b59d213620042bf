package cli

import (
	"crypto/rand"
	"fmt"

	"github.com/gavel-ads/gavel/node/auth"
)

// keysCommand holds what can be done with API keys.
type keysCommand struct {
	Generate keysGenerate `cmd:"" help:"Print a valid key and store nothing; preset it at the first start, see --bootstrap-auction-key."`
}

// keysGenerate makes a key without a node.
type keysGenerate struct {
	Kind string `required:"" enum:"auction,management" help:"What the key opens: auction is /v2, management is /public/v1." placeholder:"auction|management"`
}

// Run prints the key and nothing else, so that scripts can take it as it is.
func (c *keysGenerate) Run(p *process) error {
	kind := auth.Auction
	if c.Kind == "management" {
		kind = auth.Management
	}
	key, err := auth.Generate(kind, rand.Reader)
	if err != nil {
		return fmt.Errorf("generate a key: %w", err)
	}
	_, err = fmt.Fprintln(p.out, key)
	return err
}
