package raftstore

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/transport"
)

const (
	controlBytesMax = 64 << 10        // BOUND: bytes of a control message.
	controlTimeout  = 5 * time.Second // Bounds a question and its answer.
	// questionTimeout is how long a question may take to arrive. The asking node sends it right after the header.
	questionTimeout = 2 * time.Second
)

// question is what one node asks another. Each question has a connection of its own, because they are rare.
type question struct {
	Op        string   `json:"op"`   // One of the cases of Store.answer.
	Node      string   `json:"node"` // The asking node, and its process.
	ProcessID string   `json:"run,omitempty"`
	Groups    []uint16 `json:"groups,omitempty"`

	// For a change of members.
	Subject  string        `json:"subject,omitempty"` // The node that the change is about.
	Server   raft.ServerID `json:"server,omitempty"`  // Its incarnation.
	Address  string        `json:"address,omitempty"`
	Group    uint16        `json:"group,omitempty"`
	NodeInfo []byte        `json:"about,omitempty"` // The subject's Config.NodeInfo, when it wants to be a member.

	// For founding a cluster.
	Cluster   string  `json:"cluster,omitempty"`
	Expect    int     `json:"expect,omitempty"`
	Voters    []voter `json:"voters,omitempty"`
	AnyGroups bool    `json:"any_groups,omitempty"` // The asking node accepts other groups.

	Digests []digestReport `json:"digests,omitempty"` // Digests of the asking node's states.
}

// answer is the answer to a question. Refused is not empty when the node refuses.
type answer struct {
	Node      string        `json:"node"`
	Server    raft.ServerID `json:"server,omitempty"`
	Address   string        `json:"address,omitempty"`
	ProcessID string        `json:"run,omitempty"`
	Groups    []uint16      `json:"groups,omitempty"`
	Expect    int           `json:"expect,omitempty"`
	Cluster   string        `json:"cluster,omitempty"` // Empty: the node has no cluster.
	Pending   bool          `json:"pending,omitempty"` // The cluster is being founded.
	Others    []string      `json:"others,omitempty"`  // Addresses of further nodes without a cluster.
	AnyGroups bool          `json:"any_groups,omitempty"`
	Draining  bool          `json:"draining,omitempty"`
	Applied   uint64        `json:"applied,omitempty"` // Applied index of the group that was asked about.
	NodeInfo  []byte        `json:"about,omitempty"`
	Clock     int64         `json:"clock,omitempty"`  // Unix microseconds.
	Leader    string        `json:"leader,omitempty"` // Address of the group's leader, when this node is not it.
	InUse     bool          `json:"in_use,omitempty"` // Refused, because another process runs with the node's id.
	Final     bool          `json:"final,omitempty"`  // Asking again will be refused again: ErrRefused.
	Refused   string        `json:"refused,omitempty"`

	Digests []digestReport `json:"digests,omitempty"` // Digests of the same states here, as far as they are known.
}

func writeMessage(w io.Writer, m any) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

// readMessage reads a message. Its buffer grows with the bytes that arrive: a sender of four bytes must not cost
// controlBytesMax.
func readMessage(r io.Reader, m any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > controlBytesMax {
		return fmt.Errorf("a control message of %d bytes, at most %d", n, controlBytesMax)
	}
	b, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err != nil {
		return err
	}
	if len(b) < int(n) {
		return io.ErrUnexpectedEOF
	}
	return json.Unmarshal(b, m)
}

// ask sends a question to the node at address and returns its answer; a refusal is an error beside the answer.
func (s *Store) ask(ctx context.Context, address string, q question) (a answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	q.Node, q.ProcessID, q.Groups = s.c.NodeID, s.processID, s.groupIDs()
	c, err := s.mux.Dial(ctx, transport.Control, address)
	if err != nil {
		return a, err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	if err := errors.Join(writeMessage(c, q), readMessage(c, &a)); err != nil {
		return a, err
	}
	if a.Refused != "" {
		return a, fmt.Errorf("%s refuses: %s", address, a.Refused)
	}
	return a, nil
}

// serveControl answers one question.
func (s *Store) serveControl(c net.Conn) {
	if c.SetDeadline(time.Now().Add(questionTimeout)) != nil {
		return
	}
	var q question
	if readMessage(c, &q) != nil || c.SetDeadline(time.Now().Add(2*controlTimeout)) != nil {
		return
	}
	a := answer{Refused: "the certificate does not allow the question"}
	if s.isAuthorized(c, q) {
		a = s.answer(q)
	}
	a.Node, a.ProcessID, a.Address, a.Groups = s.c.NodeID, s.processID, string(s.address), s.groupIDs()
	_ = writeMessage(c, a) // After an error the asking node asks again.
}

// isAuthorized reports whether the certificate of the asking node allows the question: a node asks only in its own
// name, and only members change others. Without certificates every question is allowed.
func (s *Store) isAuthorized(c net.Conn, q question) bool {
	names, secured := transport.Names(c)
	if !secured {
		return true
	}
	if !slices.Contains(names, q.Node) {
		return false
	}
	switch q.Op {
	case "hello", "found":
		return true
	case "welcome", "join", "promote":
		return q.Subject == q.Node || s.acceptsMember(q.Node)
	default:
		return s.acceptsMember(q.Node)
	}
}

// answer answers one question.
func (s *Store) answer(q question) (a answer) {
	if !s.serving.Load() {
		return s.founding.answer(q)
	}
	var err error
	switch q.Op {
	case "hello":
	case "found":
		if q.Cluster != s.identity.Cluster {
			err = errBusy
		}
	case "digests":
		if s.hasMember(q.Node) {
			a.Digests = s.stateChecks.answer(q.Node, q.Digests)
		}
	case "welcome":
		err = s.checkJoin(q)
	case "clock":
		a.Clock = s.clock()
	case "about":
		a.NodeInfo = s.nodeInfo()
	case "progress":
		if g := s.groups[q.Group]; g != nil {
			a.Applied = g.raft.AppliedIndex()
		}
	case "join", "admit", "promote", "remove", "transfer":
		ctx, cancel := context.WithTimeout(s.ctx, controlTimeout) // The asking node waits no longer.
		defer cancel()
		a.Leader, err = s.changeMembership(ctx, q)
	default:
		err = fmt.Errorf("unknown question %q", q.Op)
	}
	if err != nil {
		a.Refused, a.InUse, a.Final = err.Error(), errors.Is(err, ErrNodeInUse), errors.Is(err, ErrRefused)
	}
	a.Server, a.Cluster, a.Draining = s.identity.Server, s.identity.Cluster, s.avoidsLeadership()
	return a
}
