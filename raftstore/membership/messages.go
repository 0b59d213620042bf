package membership

import (
	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/control"
)

// hello introduces a node to another one.
type hello struct {
	Server    raft.ServerID `json:"server,omitempty"` // Its incarnation.
	Address   string        `json:"address"`
	Cluster   string        `json:"cluster,omitempty"` // The cluster that it has, or is founding; empty: none.
	Expect    int           `json:"expect"`
	Groups    []uint16      `json:"groups"`
	AnyGroups bool          `json:"any_groups,omitempty"` // It accepts other groups.
}

// greeting is the answer to a hello: the same about the asked node.
type greeting struct {
	hello
	Pending bool     `json:"pending,omitempty"` // The cluster is being founded.
	Others  []string `json:"others,omitempty"`  // Addresses of further nodes without a cluster.
}

// offer is what a founder asks the other first voters to agree to. Its Cluster is the one that is founded.
type offer struct {
	hello
	Voters []Voter `json:"voters"` // The founder is the first.
}

// applicant is a node that wants to be a member.
type applicant struct {
	Node     string        `json:"node"`
	Server   raft.ServerID `json:"server"`
	Address  string        `json:"address"`
	NodeInfo []byte        `json:"node_info,omitempty"`
}

// admission lets a node that was removed come back; promotion makes a learner a voter; removal removes a node; transfer
// gives the leadership to a voter.
type (
	admission struct {
		Node string `json:"node"`
	}
	promotion struct {
		Node string `json:"node"`
	}
	removal struct {
		Node string `json:"node"`
	}
	transfer struct {
		Node string `json:"node"`
	}
)

// request asks the leader of a group for a change.
type request[C change] struct {
	Group  uint16 `json:"group"`
	Change C      `json:"change"`
}

// leaderHint is the answer to a request.
type leaderHint struct {
	Leader string `json:"leader,omitempty"` // Address of the group's leader, when the asked node is not it.
}

// nothing is the answer to a question that is agreed to or refused.
type nothing struct{}

var (
	sayHello  = control.Define[hello, greeting]("hello")
	found     = control.Define[offer, nothing]("found")
	welcome   = control.Define[applicant, nothing]("welcome") // Could this node join?
	joinGroup = control.Define[request[applicant], leaderHint]("join")
	admit     = control.Define[request[admission], leaderHint]("admit")
	promote   = control.Define[request[promotion], leaderHint]("promote")
	remove    = control.Define[request[removal], leaderHint]("remove")
	transfers = control.Define[request[transfer], leaderHint]("transfer")
)
