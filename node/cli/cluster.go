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

// clusterCommand holds the operations on a cluster. All but certificates call a running node.
type clusterCommand struct {
	Status       clusterStatus       `cmd:"" help:"Print nodes, groups and warnings; exit code 1 when there are warnings."`
	Join         clusterJoin         `cmd:"" help:"Allow a node to join: one that was removed, or whose disk was replaced."`
	Remove       clusterRemove       `cmd:"" help:"Remove a node from the cluster; call another one. It cannot join again before cluster join."`
	Promote      clusterPromote      `cmd:"" help:"Make a non-voter a voter. Nodes do this themselves when they have caught up."`
	Transfer     clusterTransfer     `cmd:"" help:"Move the leadership of a group to a voter."`
	Certificates clusterCertificates `cmd:"" help:"Create an authority and a certificate for each node, without a running node."`
}

// target is the node that a command calls.
type target struct {
	Manage string `help:"Management listener of any node of the cluster. [GAVEL_MANAGE]" placeholder:"URL"`
	Key    string `help:"Management key of the first marketplace. Prefer the variable: the process list shows flags. [GAVEL_MANAGE_KEY]" placeholder:"KEY"`
}

// manageDefault is the management listener of a node with the default configuration.
const manageDefault = "http://127.0.0.1:8081"

// client returns a client of the node; the environment supplies what the flags do not set.
func (a *target) client(p *process) (operator.Client, error) {
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

// variable returns a variable of the environment, or "" when it is not set.
func (p *process) variable(name string) string {
	for _, v := range p.environ {
		if value, found := strings.CutPrefix(v, name+"="); found {
			return value
		}
	}
	return ""
}

// ask calls do and prints done when it succeeded.
func (a *target) ask(p *process, done string, do func(context.Context, operator.Client) error) error {
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
	target
	JSON bool `help:"Print the answer of the node as JSON." name:"json"`
}

// Run prints a table or JSON. Warnings are an error.
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
		return fmt.Errorf("the cluster has %s, printed above", plural(n, "warning"))
	}
	return nil
}

type clusterJoin struct {
	Node    string `arg:"" help:"Id of the node."`
	Address string `arg:"" help:"HOST:PORT of its peer listener."`
	target
}

// Run allows a node to join.
func (c *clusterJoin) Run(p *process) error {
	return c.ask(p, c.Node+" may join; it becomes a voter when it has caught up", func(ctx context.Context, to operator.Client) error {
		return to.Admit(ctx, c.Node, c.Address)
	})
}

type clusterRemove struct {
	Node string `arg:"" help:"Id of the node."`
	target
}

// Run removes a node.
func (c *clusterRemove) Run(p *process) error {
	return c.ask(p, c.Node+" is no longer a member", func(ctx context.Context, to operator.Client) error { return to.Remove(ctx, c.Node) })
}

type clusterPromote struct {
	Node string `arg:"" help:"Id of the node."`
	target
}

// Run makes a non-voter a voter.
func (c *clusterPromote) Run(p *process) error {
	return c.ask(p, c.Node+" is a voter in every group with fewer than five voters", func(ctx context.Context, to operator.Client) error {
		return to.Promote(ctx, c.Node)
	})
}

type clusterTransfer struct {
	Group uint16 `arg:"" help:"Number of the group."`
	Node  string `arg:"" help:"Id of the voter that becomes its leader."`
	target
}

// Run transfers a leadership.
func (c *clusterTransfer) Run(p *process) error {
	return c.ask(p, fmt.Sprintf("%s leads group %d", c.Node, c.Group), func(ctx context.Context, to operator.Client) error {
		return to.Transfer(ctx, c.Group, c.Node)
	})
}

type clusterCertificates struct {
	Out     string   `required:"" help:"Directory to write to: ca.crt, ca.key, and NODE.crt and NODE.key for each node. An authority that is there already signs the new nodes." placeholder:"DIR"`
	Missing bool     `help:"Make only the certificates that are missing, and leave the others as they are."`
	Nodes   []string `arg:"" help:"Ids of the nodes."`
}

// Run writes the files and prints the flags that use them.
func (c *clusterCertificates) Run(p *process) error {
	nodes := c.Nodes
	if c.Missing {
		nodes = operator.MissingCertificates(c.Out, nodes)
	}
	if err := operator.WriteCertificates(c.Out, time.Now(), nodes...); err != nil {
		return err
	}
	for _, node := range c.Nodes {
		fmt.Fprintf(p.out, "%s: --peer-certificate %s --peer-key %s --peer-authority %s\n", node,
			filepath.Join(c.Out, node+".crt"), filepath.Join(c.Out, node+".key"), filepath.Join(c.Out, operator.AuthorityCertificate))
	}
	_, err := fmt.Fprintf(p.out, "keep %s secret and away from the nodes: it can sign certificates of new nodes\n", filepath.Join(c.Out, operator.AuthorityKey))
	return err
}
