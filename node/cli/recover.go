package cli

import (
	"errors"
	"fmt"

	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/daemon"
)

// recoverCommand restores a cluster whose majority is lost for good.
type recoverCommand struct {
	AcceptLoss bool `name:"i-accept-loss" help:"Required: entries that the lost nodes acknowledged and this one never received are lost."`

	settings
}

// Help says when to use the command, and when not.
func (recoverCommand) Help() string {
	return `Makes a stopped node the only voter of every group, with the entries of its log. Use it only for a cluster whose majority of
nodes is lost with their disks: if a majority can be started again, start it instead, and nothing is lost.

Of several remaining nodes choose the one with the newest entries; gavel check prints them. The cluster gets a new id, so it
refuses lost nodes that return: empty their data directories and let them join.`
}

// Run recovers the node and prints what it changed.
func (c *recoverCommand) Run(p *process) error {
	l, err := c.load(p, config.Default())
	if err != nil {
		return err
	}
	if !c.AcceptLoss {
		return usageError{errors.New("gavel: nothing was changed: recovery loses the entries that only the lost nodes had; --i-accept-loss continues")}
	}
	r, err := daemon.RecoverQuorum(l.Config)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "cluster %016x is now cluster %016x, with %s as its only voter\n", r.Former, r.Cluster, l.Config.NodeID)
	for _, g := range r.Groups {
		fmt.Fprintf(p.out, "group %d: the log ends with entry %d; entries up to %d were committed", g.Group, g.Last, g.Committed)
		if g.Last > g.Committed {
			fmt.Fprint(p.out, "; the later ones may not have been acknowledged and are applied now")
		}
		fmt.Fprintf(p.out, "\n  voters before:")
		for _, v := range g.Voters {
			fmt.Fprintf(p.out, " %s", v)
		}
		fmt.Fprintln(p.out)
	}
	fmt.Fprintf(p.out, "Next: start this node, wait for gavel health, take a backup, then start the other nodes with empty directories and --join.\n")
	return nil
}
