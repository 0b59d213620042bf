//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
)

// remove removes a node from the cluster and, after a time in which it must not be a member, admits it again, both with gavel cluster as
// an operator would. The process of the node runs on meanwhile. The fault ends when all nodes are voters again.
func (f *activeFault) remove() error {
	node := f.randomNodes(1)[0]
	f.supervisor.beginDisturbance(node, "removed")
	id := f.w.Nodes[node].ID
	err := f.changeMembership(node, false, "remove", id)
	if err == nil {
		f.keepRemoved(node)
	}
	err = errors.Join(err, f.changeMembership(node, true, "join", id, f.w.Nodes[node].IP+":7400"))
	f.supervisor.endDisturbance(node)
	return errors.Join(err, f.awaitRecovery(context.WithoutCancel(f.ctx), "remove"), f.awaitAllVoters(f.ctx))
}

// keepRemoved waits while the node is removed. Nothing reaches the node, so like one that is cut off it must soon offer no campaign.
func (f *activeFault) keepRemoved(node int) {
	from := f.h.Now()
	f.sustain(f.randomDuration(4, 12))
	until := f.h.Now()
	f.h.With(func(h *history.History) {
		h.Isolated = append(h.Isolated, history.Span{Node: node, From: from, Until: until, Why: "removed"})
	})
	if in, err := f.isMember(context.WithoutCancel(f.ctx), node); err == nil && in {
		f.h.Finding(f.w.Nodes[node].ID + " was removed and is a member again without having been admitted")
	}
}

// changeMembership asks for a change of the membership of a node until it is made, for at most recoverMax. A refusal may be temporary, and a
// missing answer says nothing, so it then asks whether the node is a member as wanted.
func (f *activeFault) changeMembership(node int, want bool, args ...string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), recoverMax)
	defer cancel()
	for {
		_, failed := f.runClusterCommand(ctx, node, args...)
		if failed == nil {
			return nil
		}
		if in, err := f.isMember(ctx, node); err == nil && in == want {
			return nil
		}
		if !wait(ctx, 500*time.Millisecond) {
			return failed
		}
	}
}

// isMember asks another node whether a node is a member.
func (f *activeFault) isMember(ctx context.Context, node int) (bool, error) {
	text, err := f.runClusterCommand(ctx, node, "status", "--json")
	if err != nil {
		return false, err
	}
	var cluster struct{ Nodes []struct{ ID string } }
	if err := json.Unmarshal(text, &cluster); err != nil {
		return false, err
	}
	return slices.ContainsFunc(cluster.Nodes, func(n struct{ ID string }) bool { return n.ID == f.w.Nodes[node].ID }), nil
}

// runClusterCommand runs gavel cluster against another node than the one that the command is about, a ready one if there is one.
func (f *activeFault) runClusterCommand(ctx context.Context, about int, args ...string) ([]byte, error) {
	asked := (about + 1) % len(f.w.Nodes)
	for i := range f.w.Nodes {
		if i != about && f.supervisor.isReady(i) {
			asked = i
		}
	}
	cmd := exec.CommandContext(ctx, f.o.binary, append([]string{"cluster", args[0], "--manage", f.w.Nodes[asked].ManageURL}, args[1:]...)...)
	cmd.Env = append(os.Environ(), "GAVEL_MANAGE_KEY="+f.keys.management)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	text, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("gavel cluster %v: %w: %.500s", args, err, complaint.String())
	}
	return text, err
}
