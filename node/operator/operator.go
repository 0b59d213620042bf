// Package operator is the interface for whoever runs the cluster: its state, its members and its leaders, as requests below
// /operator/v1 of the management listener, and the client that the command line speaks it with. DESIGN.md has the reasons.
package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
)

// Base is where the interface lies.
const Base = "/operator/v1/cluster"

// Status is the cluster as the asked node sees it, with what the other nodes told it just now.
type Status struct {
	ClusterID string  `json:"clusterId"`
	Node      string  `json:"node"` // Who answers.
	Nodes     []Node  `json:"nodes"`
	Groups    []Group `json:"groups"`
}

// Node is a member.
type Node struct {
	ID        string `json:"id"`
	Address   string `json:"address"` // Of its peer port.
	Voter     bool   `json:"voter"`
	Reachable bool   `json:"reachable"` // It answered within AskTimeout.
	Error     string `json:"error,omitempty"`
	Lag       uint64 `json:"lag"` // Entries behind the leader, of the group where it is most.
	About
}

// Group is a raft group.
type Group struct {
	Group    uint16    `json:"group"`
	Leader   string    `json:"leader"` // Empty: none that the asked node knows of.
	Term     uint64    `json:"term"`
	Replicas []Replica `json:"replicas"`
}

// Replica is a group on a node.
type Replica struct {
	Node string `json:"node"`
	Lag  uint64 `json:"lag"`
	Copy
}

// About is what a node tells of itself. BOUND: it travels in one control message, see CopiesMax.
type About struct {
	Version  string `json:"version"`
	Level    uint16 `json:"featureLevel"`       // The newest that its binary knows.
	NotReady string `json:"notReady,omitempty"` // Why it wants no requests; empty: it is ready.
	Disk     *Disk  `json:"disk,omitempty"`
	Copies   []Copy `json:"copies,omitempty"`
}

// Disk is the disk of a node's data directory, in bytes.
type Disk struct {
	Free    uint64 `json:"free"`
	Total   uint64 `json:"total"`
	Reserve uint64 `json:"reserve"` // With less than that free the node takes no writes.
	Low     bool   `json:"low"`
}

// CopiesMax bounds the groups that a node tells about.
const CopiesMax = 24 // BOUND: 24 of at most copyBytes fit into raftstore.AboutBytesMax, with 256 bytes for the rest.

const copyBytes = 160

// ContactMillisMax stands for a leader that never called, too. BOUND: so many digits fit the control message.
const ContactMillisMax = 9_999_999

// Copy is the state of a group on a node: two nodes with the same Applied must have the same Digest.
type Copy struct {
	Group           uint16 `json:"group"`
	Commit          uint64 `json:"commit"`
	Applied         uint64 `json:"applied"`
	Digest          string `json:"digest"`
	StalenessMillis int64  `json:"stalenessMs"`
	ContactMillis   int64  `json:"contactMs"` // Since its leader last called, at most ContactMillisMax; 0 on the leader.
}

// Cluster is what the interface does things with. Its errors are for operators to read; those that are Refused will be the same
// however often the change is asked for, all others may pass.
type Cluster interface {
	Status(ctx context.Context) Status
	Admit(ctx context.Context, node, address string) error
	Promote(ctx context.Context, node string) error
	Remove(ctx context.Context, node string) error
	Transfer(ctx context.Context, group uint16, node string) error
	Drain(ctx context.Context) error
	// Backup writes the state of all groups; with local, this node's copy as it is.
	Backup(ctx context.Context, w io.Writer, local bool) error
}

const (
	// AskTimeout bounds how long a status waits for other nodes.
	AskTimeout = 2 * time.Second
	// changeTimeout bounds a change: it goes through the log of every group.
	changeTimeout = 30 * time.Second
	bodyMax       = 4 << 10 // BOUND: an id and an address.
)

// Routes are the patterns that Handler serves.
func Routes() []string {
	return []string{
		"GET " + Base, "POST " + Base + "/nodes", "DELETE " + Base + "/nodes/{id}", "POST " + Base + "/nodes/{id}/promote",
		"POST " + Base + "/transfer", "POST " + Base + "/drain", "GET " + Base + "/backup",
	}
}

// Admission is the body of a request to admit a node.
type Admission struct {
	ID      string `json:"id"`
	Address string `json:"address"` // Of its peer port.
}

// Handover is the body of a request to move a leadership.
type Handover struct {
	Group uint16 `json:"group"`
	Node  string `json:"node"`
}

// Handler serves the interface. REQUIRES: whoever mounts it has checked that the caller may operate the cluster.
func Handler(c Cluster, publicURL string) http.Handler {
	h := handler{c, publicURL}
	mux := http.NewServeMux()
	for i, serve := range []func(http.ResponseWriter, *http.Request) error{
		h.status, h.admit, h.remove, h.promote, h.transfer, h.drain,
	} {
		mux.HandleFunc(Routes()[i], h.answering(serve))
	}
	mux.HandleFunc("GET "+Base+"/backup", h.serveBackup)
	return mux
}

type handler struct {
	cluster Cluster
	url     string
}

// Refused marks the error of a change that the cluster will not make as it is.
func Refused(err error) error { return refused{err} }

type refused struct{ error }

// Unwrap returns the reason.
func (r refused) Unwrap() error { return r.error }

// errBody is a request that cannot be understood.
var errBody = errors.New("the body is not what this operation takes")

func (h handler) answering(serve func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), changeTimeout)
		defer cancel()
		err := serve(w, r.WithContext(ctx))
		var final refused
		switch {
		case err == nil:
		case errors.Is(err, errBody):
			h.refuse(w, apierr.BadRequest, err)
		case errors.As(err, &final):
			h.refuse(w, apierr.InvalidOperation, err)
		case r.Context().Err() != nil:
			h.refuse(w, apierr.RequestCanceled, nil)
		default: // A change that could not be made now, or was not confirmed, may be repeated.
			h.refuse(w, apierr.ServiceUnavailable, err)
		}
	}
}

func (h handler) refuse(w http.ResponseWriter, code apierr.Code, cause error) {
	message := ""
	if cause != nil {
		message = cause.Error()
	}
	if code == apierr.ServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	write(w, code.Status(), apierr.Append(nil, code, message, h.url))
}

func write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // JSON, and the listener sets nosniff. The caller may be gone.
}

func read[T any](r *http.Request) (body T, err error) {
	d := json.NewDecoder(http.MaxBytesReader(nil, r.Body, bodyMax))
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil {
		return body, fmt.Errorf("%w: %w", errBody, err)
	}
	return body, nil
}

// done answers a change that was made.
func done(w http.ResponseWriter, err error) error {
	if err == nil {
		write(w, http.StatusOK, []byte(`{}`))
	}
	return err
}

func (h handler) status(w http.ResponseWriter, r *http.Request) error {
	text, err := json.Marshal(h.cluster.Status(r.Context()))
	if err == nil {
		write(w, http.StatusOK, text)
	}
	return err
}

func (h handler) admit(w http.ResponseWriter, r *http.Request) error {
	a, err := read[Admission](r)
	if err == nil && (a.ID == "" || a.Address == "") {
		err = fmt.Errorf("%w: id and address are needed", errBody)
	}
	if err != nil {
		return err
	}
	return done(w, h.cluster.Admit(r.Context(), a.ID, a.Address))
}

func (h handler) remove(w http.ResponseWriter, r *http.Request) error {
	return done(w, h.cluster.Remove(r.Context(), r.PathValue("id")))
}

func (h handler) promote(w http.ResponseWriter, r *http.Request) error {
	return done(w, h.cluster.Promote(r.Context(), r.PathValue("id")))
}

func (h handler) transfer(w http.ResponseWriter, r *http.Request) error {
	t, err := read[Handover](r)
	if err == nil && t.Node == "" {
		err = fmt.Errorf("%w: a node is needed", errBody)
	}
	if err != nil {
		return err
	}
	return done(w, h.cluster.Transfer(r.Context(), t.Group, t.Node))
}

func (h handler) drain(w http.ResponseWriter, r *http.Request) error {
	return done(w, h.cluster.Drain(r.Context()))
}
