package membership

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/raft"
)

// Two processes with one incarnation run when a directory was copied: a disk was cloned, or a virtual machine was
// started twice. Both would vote and campaign as the same server, each with its own memory of votes, so that one term
// could have two leaders. Only one of them may run.
//
// A node that starts asks all members that it knows before Raft starts. Each member asks the address at which it knows
// this incarnation (mayJoin), and reports a process there that is not the asking one. This node asks that address too.
// A second process that was cut off from every member at that moment is found when it is reachable again: a node
// without contact to a leader asks whether it is still a member, and exits when the answer is that another process is
// (Members.Keep). Until then both may vote: for at most leaderContactMax and the two memberPauses that
// Keep may sleep. That is not ruled out.

// CheckDuplicateProcess returns ErrNodeInUse when another process with this incarnation answers. It asks once, for the
// first group whose configuration c has other members, and takes at most SeedTimeout when one of them is silent.
// REQUIRES: SetIdentity was called, and Begin was not.
func (m *Members) CheckDuplicateProcess(ctx context.Context, c raft.Configuration) error {
	if m.duplicateChecked || !m.peers.c.HasPort || len(c.Servers) == 0 {
		return nil
	}
	var asked []func(context.Context) error
	for _, member := range c.Servers {
		switch address := string(member.Address); {
		case member.ID != m.identity.Server:
			asked = append(asked, func(ctx context.Context) error { return m.askWelcome(ctx, address) })
		case address != m.peers.address:
			asked = append(asked, func(ctx context.Context) error { return m.askFormerAddress(ctx, address) })
		}
	}
	if len(asked) == 0 {
		return nil
	}
	m.duplicateChecked = true
	m.founding.SetIdentity(m.identity) // Members ask this node in turn, and it must not answer as a node without a cluster.
	m.founding.start()
	ctx, cancel := context.WithTimeout(ctx, SeedTimeout)
	defer cancel()
	answers := make(chan error, len(asked))
	for _, ask := range asked {
		go func() { answers <- ask(ctx) }()
	}
	var first error
	for range asked {
		if err := <-answers; errors.Is(err, ErrNodeInUse) && first == nil {
			first = err
		}
	}
	if first != nil {
		return fmt.Errorf("%w; end one of them, and never start a node from a copy of another one's directory", first)
	}
	return nil
}

// askWelcome asks another member whether this node could join.
func (m *Members) askWelcome(ctx context.Context, address string) error {
	_, _, err := welcome.Ask(ctx, m.peers.port, address, applicant{
		Node: m.peers.c.Node, Server: m.identity.Server, Address: m.peers.address, NodeInfo: m.peers.c.NodeInfo(),
	})
	return err
}

// askFormerAddress returns ErrNodeInUse when another process with this incarnation answers at the address that the
// configuration still has for it.
func (m *Members) askFormerAddress(ctx context.Context, address string) error {
	a, by, err := sayHello.Ask(ctx, m.peers.port, address, m.hello())
	if err == nil && a.Server == m.identity.Server && by.Process != m.peers.self.Process {
		return refuseDuplicate(m.peers.c.Node, address)
	}
	return err
}

// refuseDuplicate returns the refusal for a process whose node already runs at another address.
func refuseDuplicate(node, address string) error {
	return refuse("%w: %s answers at %s; two processes must not share a node id", ErrNodeInUse, node, address)
}
