package operator

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// WriteTable prints the state of a cluster as text: a line for each node, a line for each group, and the warnings.
func (s *Status) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "cluster %s, seen by %s\n\n", s.ClusterID, s.Node)
	fmt.Fprintln(t, "NODE\tADDRESS\tROLE\tSTATE\tLAG\tLEADS\tDISK FREE\tVERSION")
	for i := range s.Nodes {
		n := &s.Nodes[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", n.ID, orDash(n.Address), role(n.Voter), n.state(), n.lag(), s.leads(n.ID), n.Disk, orDash(n.Version))
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

// lag returns how many entries a node is behind; "-" for one that did not answer, of which nothing is known.
func (n *Node) lag() string {
	if !n.Reachable {
		return "-"
	}
	return strconv.FormatUint(n.Lag, 10)
}

// String returns the free space, with LOW when it is below the reserve.
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

// Warnings returns what an operator should look at.
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
			all = append(all, n.ID+" has less free disk space than its reserve and refuses writes")
		}
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.Leader == "" {
			all = append(all, fmt.Sprintf("group %d has no leader", g.Group))
		}
		all = append(all, g.laggingReplicas()...)
		if a, b, found := g.divergedReplicas(); found {
			all = append(all, fmt.Sprintf("group %d: the states of %s and %s differ at entry %d; keep both data directories", g.Group, a.Node, b.Node, a.Applied))
		}
	}
	return all
}

// A replica that its leader contacts and that is this far behind either catches up or never will: raft may stop sending
// it entries while heartbeats arrive (hashicorp/raft#612). Nodes report at about the same time, so a healthy replica is
// behind by the entries of a few round trips; at 2,000 entries a second this bound is half a second.
const (
	lagMax          = 1_000 // Entries.
	recentContactMs = 2_000
)

// laggingReplicas warns of replicas that are behind although their leader contacts them.
func (g *Group) laggingReplicas() (all []string) {
	for i := range g.Replicas {
		if r := &g.Replicas[i]; r.Lag > lagMax && r.ContactMillis < recentContactMs {
			all = append(all, fmt.Sprintf("group %d: %s is %d entries behind although its leader contacts it; if the number does not fall, "+
				`see "A follower stays behind" in the runbook`, g.Group, r.Node, r.Lag))
		}
	}
	return all
}

// divergedReplicas returns two replicas that have applied the same entries and have different digests.
func (g *Group) divergedReplicas() (a, b *Replica, found bool) {
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
