package operator

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteTable writes the state of a cluster for people: a line for each node, one for each group, and what is wrong.
func (s *Status) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "cluster %s, asked %s\n\n", s.ClusterID, s.Node)
	fmt.Fprintln(t, "NODE\tADDRESS\tROLE\tSTATE\tLAG\tLEADS\tDISK FREE\tVERSION")
	for i := range s.Nodes {
		n := &s.Nodes[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\n", n.ID, n.Address, role(n.Voter), n.state(), n.Lag, s.leads(n.ID), n.Disk, n.Version)
	}
	fmt.Fprintln(t, "\nGROUP\tLEADER\tTERM\tCOMMIT\tREPLICAS (node: applied, staleness)")
	for i := range s.Groups {
		g := &s.Groups[i]
		fmt.Fprintf(t, "%d\t%s\t%d\t%d\t%s\n", g.Group, orDash(g.Leader), g.Term, g.commit(), g.replicas())
	}
	fmt.Fprintln(t)
	for _, text := range s.Warnings() {
		fmt.Fprintf(t, "WARNING: %s\n", text)
	}
	return t.Flush()
}

func role(voter bool) string {
	if voter {
		return "voter"
	}
	return "learner"
}

func (n *Node) state() string {
	switch {
	case !n.Reachable:
		return "unreachable"
	case n.NotReady != "":
		return "not ready"
	default:
		return "ready"
	}
}

// String is the free space, and a mark when it is low.
func (d *Disk) String() string {
	if d == nil {
		return "-"
	}
	text := fmt.Sprintf("%.1f GiB", float64(d.Free)/(1<<30))
	if d.Low {
		text += " LOW"
	}
	return text
}

func (s *Status) leads(node string) (n int) {
	for i := range s.Groups {
		if s.Groups[i].Leader == node {
			n++
		}
	}
	return n
}

func (g *Group) commit() (newest uint64) {
	for i := range g.Replicas {
		newest = max(newest, g.Replicas[i].Commit)
	}
	return newest
}

func (g *Group) replicas() string {
	parts := make([]string, len(g.Replicas))
	for i := range g.Replicas {
		r := &g.Replicas[i]
		parts[i] = fmt.Sprintf("%s: %d, %d ms", r.Node, r.Applied, r.StalenessMillis)
	}
	return strings.Join(parts, "; ")
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Warnings are what an operator should look at.
func (s *Status) Warnings() (all []string) {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		switch {
		case !n.Reachable:
			all = append(all, fmt.Sprintf("%s does not answer: %s", n.ID, n.Error))
		case n.NotReady != "":
			all = append(all, fmt.Sprintf("%s is not ready: %s", n.ID, n.NotReady))
		}
		if n.Disk != nil && n.Disk.Low {
			all = append(all, n.ID+" has little disk space left and takes no writes")
		}
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.Leader == "" {
			all = append(all, fmt.Sprintf("group %d has no leader", g.Group))
		}
		all = append(all, g.behind()...)
		if a, b, found := g.diverged(); found {
			all = append(all, fmt.Sprintf("group %d: %s and %s differ at entry %d; keep both directories", g.Group, a.Node, b.Node, a.Applied))
		}
	}
	return all
}

// A replica that hears its leader and is this far behind catches up, or it never will: raft may send it no entries any more while
// heartbeats arrive (hashicorp/raft#612). Nodes are asked at about the same moment, so a healthy one is behind by some round trips
// of entries; at 2,000 entries a second the bound is half a second.
const (
	lagMax         = 1_000 // Entries.
	contactFreshMs = 2_000
)

// behind warns of replicas that fall behind although they hear their leader.
func (g *Group) behind() (all []string) {
	for i := range g.Replicas {
		if r := &g.Replicas[i]; r.Lag > lagMax && r.ContactMillis < contactFreshMs {
			all = append(all, fmt.Sprintf("group %d: %s is %d entries behind although it hears its leader; if that does not shrink, "+
				`see "A follower stays behind" in the runbook`, g.Group, r.Node, r.Lag))
		}
	}
	return all
}

// diverged finds two replicas that have applied the same and are not the same.
func (g *Group) diverged() (a, b *Replica, found bool) {
	for i := range g.Replicas {
		for j := range i {
			a, b := &g.Replicas[i], &g.Replicas[j]
			if a.Applied == b.Applied && a.Digest != b.Digest {
				return a, b, true
			}
		}
	}
	return nil, nil, false
}
