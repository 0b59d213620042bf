package cli

import (
	"errors"
	"fmt"

	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/daemon"
)

// recoverCommand brings a cluster back whose majority is lost for ever.
type recoverCommand struct {
	AcceptLoss bool `name:"i-accept-loss" help:"Needed: what the lost nodes acknowledged and this one never got is lost."`

	settings
}

// Help says when, and when not.
func (recoverCommand) Help() string {
	return `Makes a stopped node the only voter of every group, with what its log has. Only for a cluster whose majority of nodes is
lost with their disks: as long as a majority can be started again, start it instead, and nothing is lost.

Of several survivors choose the one with the newest entries; gavel check prints them. The cluster gets a new id, so lost nodes
that turn up again are refused: empty their directories and let them join.`
}

// Run recovers and tells what was done.
func (c *recoverCommand) Run(p *process) error {
	l, err := c.load(p, config.Default())
	if err != nil {
		return err
	}
	if !c.AcceptLoss {
		return usageError{errors.New("gavel: nothing was changed: recovery loses what only the lost nodes had; give --i-accept-loss to go on")}
	}
	r, err := daemon.RecoverQuorum(l.Config)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "cluster %016x is now cluster %016x, with %s as its only voter\n", r.Former, r.Cluster, l.Config.NodeID)
	for _, g := range r.Groups {
		fmt.Fprintf(p.out, "group %d: goes on from entry %d; up to entry %d was surely committed", g.Group, g.Last, g.Committed)
		if g.Last > g.Committed {
			fmt.Fprint(p.out, ", the entries behind it may never have been acknowledged and are applied now")
		}
		fmt.Fprintf(p.out, "\n  voters before:")
		for _, v := range g.Voters {
			fmt.Fprintf(p.out, " %s", v)
		}
		fmt.Fprintln(p.out)
	}
	fmt.Fprintf(p.out, "Next: start this node, wait for gavel health, make a backup, then start the other nodes with empty directories and --join.\n")
	return nil
}
