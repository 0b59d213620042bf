package cli

import (
	"crypto/rand"
	"fmt"

	"github.com/gavel-ads/gavel/node/auth"
)

// keysCommand holds the commands about API keys.
type keysCommand struct {
	Generate keysGenerate `cmd:"" help:"Print a valid key and store nothing; use it as a preset at the first start, see --bootstrap-auction-key."`
}

// keysGenerate generates a key without a node.
type keysGenerate struct {
	Kind string `required:"" enum:"auction,management" help:"Interface that the key is for: auction is /v2, management is /public/v1." placeholder:"auction|management"`
}

// Run prints only the key, so that scripts can use the output.
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
