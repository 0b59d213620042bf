package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/daemon"
	"github.com/gavel-ads/gavel/node/operator"
)

// keysCommand holds the commands about API keys.
type keysCommand struct {
	Generate keysGenerate `cmd:"" help:"Print a valid key and store nothing; use it as a preset at the first start, see --bootstrap-auction-key."`
	Create   keysCreate   `cmd:"" help:"Create a key on the node's own machine, without another key."`
	List     keysList     `cmd:"" help:"List the keys on the node's own machine."`
	Revoke   keysRevoke   `cmd:"" help:"Revoke a key on the node's own machine."`
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

// localHelp says how the commands reach the keys.
const localHelp = `The command needs no key: who may read the data directory may use it. It asks the running node through the socket
gavel.sock in the data directory, which only root and the user of the node can use. Where no node runs, it starts a node without
peers for a moment, without its listeners; the keys of a cluster need a running member.`

// keysCreate creates a key.
type keysCreate struct {
	Kind        string `required:"" enum:"auction,management" help:"Interface that the key is for: auction is /v2, management is /public/v1." placeholder:"auction|management"`
	Name        string `default:"created on the machine" help:"Name of the key in lists." placeholder:"NAME"`
	Marketplace string `help:"Id of the marketplace; default: the first one." placeholder:"ID"`
	Replace     string `help:"Id of a key to revoke when the new one is made." placeholder:"ID"`

	settings
}

// Help says how the key is made.
func (keysCreate) Help() string { return localHelp }

// Run prints only the text of the key, so that scripts can use the output.
func (c *keysCreate) Run(p *process) error {
	return c.withLocal(p, func(ctx context.Context, keys operator.Local) error {
		if err := c.findReplaced(ctx, keys); err != nil {
			return err
		}
		made, err := keys.CreateKey(ctx, c.Marketplace, operator.KeyRequest{Kind: c.Kind, Name: c.Name})
		if err != nil {
			return err
		}
		fmt.Fprintln(p.out, made.Text)
		if c.Replace == "" {
			return nil
		}
		if err := keys.RevokeKey(ctx, c.Marketplace, c.Replace); err != nil {
			return fmt.Errorf("the new key %s works, the old one was not revoked: %w", made.ID, err)
		}
		return nil
	})
}

// findReplaced fails when the key that is to be replaced does not exist, before another is made.
func (c *keysCreate) findReplaced(ctx context.Context, keys operator.Local) error {
	if c.Replace == "" {
		return nil
	}
	all, err := keys.ListKeys(ctx, c.Marketplace)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(k operator.Key) bool { return k.ID == c.Replace }) {
		return fmt.Errorf("--replace: there is no key %q; gavel keys list shows them. Nothing was created", c.Replace)
	}
	return nil
}

// keysList lists keys.
type keysList struct {
	Marketplace string `help:"Id of the marketplace; default: the first one." placeholder:"ID"`

	settings
}

// Help says how the keys are found.
func (keysList) Help() string { return localHelp }

// Run prints a table, without the texts of the keys, which are not stored.
func (c *keysList) Run(p *process) error {
	return c.withLocal(p, func(ctx context.Context, keys operator.Local) error {
		all, err := keys.ListKeys(ctx, c.Marketplace)
		if err != nil {
			return err
		}
		t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "KEY ID\tKIND\tNAME\tCREATED\tEXPIRES")
		for _, k := range all {
			expires := "never"
			if k.ExpiresMillis != 0 {
				expires = time.UnixMilli(k.ExpiresMillis).UTC().Format(time.RFC3339)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", k.ID, k.Kind, printable(k.Name), time.UnixMilli(k.CreatedMillis).UTC().Format(time.RFC3339), expires)
		}
		return t.Flush()
	})
}

// keysRevoke revokes a key.
type keysRevoke struct {
	ID          string `arg:"" help:"Id of the key; gavel keys list prints it."`
	Marketplace string `help:"Id of the marketplace; default: the first one." placeholder:"ID"`

	settings
}

// Help says how the key is revoked.
func (keysRevoke) Help() string { return localHelp }

// Run revokes the key.
func (c *keysRevoke) Run(p *process) error {
	return c.withLocal(p, func(ctx context.Context, keys operator.Local) error {
		if err := keys.RevokeKey(ctx, c.Marketplace, c.ID); err != nil {
			return err
		}
		_, err := fmt.Fprintf(p.out, "%s is revoked\n", c.ID)
		return err
	})
}

// withLocal calls do with what can be done on the machine of the node of the configured data directory: through its socket while it runs, else
// from its disk.
func (s settings) withLocal(p *process, do func(context.Context, operator.Local) error) error {
	l, err := s.load(p, config.Default())
	if err != nil {
		return err
	}
	ctx := context.Background()
	err = do(ctx, operator.LocalClient{DataDir: l.DataDir})
	if errors.Is(err, operator.ErrNotRunning) {
		return daemon.WithStoppedNode(ctx, l.Config, version, func(keys operator.Local) error { return do(ctx, keys) })
	}
	return err
}
