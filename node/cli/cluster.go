package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/node/operator"
)

// clusterCommand holds what an operator does with a cluster. All but certificates ask a running node.
type clusterCommand struct {
	Status       clusterStatus       `cmd:"" help:"Print nodes, groups and what is wrong; exit code 1 when something is."`
	Join         clusterJoin         `cmd:"" help:"Let a node in: one that was removed, or whose disk was replaced."`
	Remove       clusterRemove       `cmd:"" help:"Take a node out of the cluster; ask another one. It stays away until it is let in."`
	Promote      clusterPromote      `cmd:"" help:"Give a learner a vote. Nodes do it by themselves when they have caught up."`
	Transfer     clusterTransfer     `cmd:"" help:"Move the leadership of a group to a voter."`
	Certificates clusterCertificates `cmd:"" help:"Make an authority and a certificate for each node, without a running node."`
}

// asked is the node that a command asks.
type asked struct {
	Manage string `help:"Management listener of any node of the cluster. [GAVEL_MANAGE]" placeholder:"URL"`
	Key    string `help:"Management key of the first marketplace. Prefer the variable: flags show in the process list. [GAVEL_MANAGE_KEY]" placeholder:"KEY"`
}

// manageDefault is where a node listens that nobody configured.
const manageDefault = "http://127.0.0.1:8081"

// client reads what the flags leave out from the environment.
func (a *asked) client(p *process) (operator.Client, error) {
	c := operator.Client{URL: a.Manage, Key: a.Key}
	for _, v := range []struct {
		name string
		to   *string
	}{{"GAVEL_MANAGE", &c.URL}, {"GAVEL_MANAGE_KEY", &c.Key}} {
		if *v.to == "" {
			*v.to = p.variable(v.name)
		}
	}
	if c.URL == "" {
		c.URL = manageDefault
	}
	if c.Key == "" {
		return c, usageError{errors.New("gavel: --key or GAVEL_MANAGE_KEY is needed: a management key of the first marketplace")}
	}
	return c, nil
}

// variable is a variable of the environment, empty when it is not set.
func (p *process) variable(name string) string {
	for _, v := range p.environ {
		if value, found := strings.CutPrefix(v, name+"="); found {
			return value
		}
	}
	return ""
}

// ask does one thing with the cluster and says that it is done.
func (a *asked) ask(p *process, done string, do func(context.Context, operator.Client) error) error {
	c, err := a.client(p)
	if err != nil {
		return err
	}
	if err := do(context.Background(), c); err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.out, done)
	return err
}

type clusterStatus struct {
	asked
	JSON bool `help:"Print the answer of the node as it is." name:"json"`
}

// Run prints a table, or the answer itself.
func (c *clusterStatus) Run(p *process) error {
	client, err := c.client(p)
	if err != nil {
		return err
	}
	status, err := client.Status(context.Background())
	if err != nil {
		return err
	}
	if c.JSON {
		text, err := json.MarshalIndent(status, "", "  ")
		if err == nil {
			_, err = fmt.Fprintf(p.out, "%s\n", text)
		}
		return err
	}
	if err := status.WriteTable(p.out); err != nil {
		return err
	}
	if n := len(status.Warnings()); n > 0 {
		return fmt.Errorf("%d warnings, see above", n)
	}
	return nil
}

type clusterJoin struct {
	Node    string `arg:"" help:"Id of the node."`
	Address string `arg:"" help:"HOST:PORT of its peer port."`
	asked
}

// Run lets a node in.
func (c *clusterJoin) Run(p *process) error {
	return c.ask(p, c.Node+" may join; it gets a vote when it has caught up", func(ctx context.Context, to operator.Client) error {
		return to.Admit(ctx, c.Node, c.Address)
	})
}

type clusterRemove struct {
	Node string `arg:"" help:"Id of the node."`
	asked
}

// Run takes a node out.
func (c *clusterRemove) Run(p *process) error {
	return c.ask(p, c.Node+" is no member any more", func(ctx context.Context, to operator.Client) error { return to.Remove(ctx, c.Node) })
}

type clusterPromote struct {
	Node string `arg:"" help:"Id of the node."`
	asked
}

// Run gives a learner a vote.
func (c *clusterPromote) Run(p *process) error {
	return c.ask(p, c.Node+" has a vote in every group that had room", func(ctx context.Context, to operator.Client) error {
		return to.Promote(ctx, c.Node)
	})
}

type clusterTransfer struct {
	Group uint16 `arg:"" help:"Number of the group."`
	Node  string `arg:"" help:"Id of the node that shall lead it."`
	asked
}

// Run moves a leadership.
func (c *clusterTransfer) Run(p *process) error {
	return c.ask(p, fmt.Sprintf("group %d was handed to %s", c.Group, c.Node), func(ctx context.Context, to operator.Client) error {
		return to.Transfer(ctx, c.Group, c.Node)
	})
}

type clusterCertificates struct {
	Out   string   `required:"" help:"Directory to write to: ca.crt, ca.key, and NODE.crt and NODE.key for each node. With an authority in it, further nodes are signed by that." placeholder:"DIR"`
	Nodes []string `arg:"" help:"Ids of the nodes."`
}

// Run writes the files and says where they belong.
func (c *clusterCertificates) Run(p *process) error {
	if err := operator.WriteCertificates(c.Out, time.Now(), c.Nodes...); err != nil {
		return err
	}
	for _, node := range c.Nodes {
		fmt.Fprintf(p.out, "%s: --peer-certificate %s --peer-key %s --peer-authority %s\n", node,
			filepath.Join(c.Out, node+".crt"), filepath.Join(c.Out, node+".key"), filepath.Join(c.Out, operator.AuthorityCertificate))
	}
	_, err := fmt.Fprintf(p.out, "keep %s away from the nodes: it can make more of them\n", filepath.Join(c.Out, operator.AuthorityKey))
	return err
}
