// Package operator is the API for operators of a cluster: its state, its members, its leaders and backups, as requests
// below /operator/v1 of the management listener, profiles of a node below /debug/pprof, and the client that the command line uses.
// DESIGN.md has the reasons.
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

// Base is the path of the API.
const Base = "/operator/v1/cluster"

// Status is the cluster as the called node sees it, with what the other nodes reported to it at that time.
type Status struct {
	ClusterID string  `json:"clusterId"`
	Node      string  `json:"node"` // The called node.
	Nodes     []Node  `json:"nodes"`
	Groups    []Group `json:"groups"`
}

// Node is a member of the cluster.
type Node struct {
	ID        string `json:"id"`
	Address   string `json:"address"` // HOST:PORT of its peer listener; empty for a node without one, which has no peers.
	Voter     bool   `json:"voter"`
	Reachable bool   `json:"reachable"` // It answered within StatusTimeout.
	Error     string `json:"error,omitempty"`
	Lag       uint64 `json:"lag"` // Entries behind the most advanced replica, of the group in which it is furthest behind.
	NodeInfo
}

// Group is a raft group.
type Group struct {
	Group    uint16    `json:"group"`
	Leader   string    `json:"leader"` // Empty when the called node knows of none.
	Term     uint64    `json:"term"`
	Replicas []Replica `json:"replicas"`
}

// Replica is the state of a group on a node.
type Replica struct {
	Node string `json:"node"`
	Lag  uint64 `json:"lag"`
	ReplicaState
}

// NodeInfo is what a node reports of itself. BOUND: it is sent in one control message, see ReplicasMax.
type NodeInfo struct {
	Version  string         `json:"version"`
	Level    uint16         `json:"featureLevel"`       // The newest level that its binary supports.
	NotReady string         `json:"notReady,omitempty"` // Why the node is not ready; empty when it is.
	Disk     *Disk          `json:"disk,omitempty"`
	Replicas []ReplicaState `json:"copies,omitempty"`
}

// Disk is the disk of a node's data directory, in bytes.
type Disk struct {
	Free    uint64 `json:"free"`
	Total   uint64 `json:"total"`
	Reserve uint64 `json:"reserve"` // With less free space the node refuses writes.
	Low     bool   `json:"low"`
}

// ReplicasMax bounds the groups that a node reports.
const ReplicasMax = 24 // BOUND: 24 of at most replicaBytes fit into raftstore.NodeInfoBytesMax, with 256 bytes for the rest.

const replicaBytes = 160

// ContactMillisMax also stands for a leader that never contacted the node. BOUND: seven digits fit into the control
// message.
const ContactMillisMax = 9_999_999

// ReplicaState is the state of a group on a node: two nodes with the same Applied must have the same Digest.
type ReplicaState struct {
	Group           uint16 `json:"group"`
	Commit          uint64 `json:"commit"`
	Applied         uint64 `json:"applied"`
	Digest          string `json:"digest"`
	StalenessMillis int64  `json:"stalenessMs"`
	ContactMillis   int64  `json:"contactMs"` // Milliseconds since its leader contacted it, at most ContactMillisMax; 0 on the leader.
}

// Cluster is what the API operates on. An error that is Refused will occur again until the request or the cluster is
// changed; all others may be temporary.
type Cluster interface {
	Status(ctx context.Context) Status
	Admit(ctx context.Context, node, address string) error
	Promote(ctx context.Context, node string) error
	Remove(ctx context.Context, node string) error
	Transfer(ctx context.Context, group uint16, node string) error
	Drain(ctx context.Context) error
	// Backup writes the state of all groups; with local, the state of this node's replicas as it is.
	Backup(ctx context.Context, w io.Writer, local bool) error
	// ArchiveLog writes the part of the log that follows an archive.
	ArchiveLog(ctx context.Context, w io.Writer, r LogRequest) error
}

const (
	// StatusTimeout bounds how long a status waits for other nodes.
	StatusTimeout = 2 * time.Second
	// changeTimeout bounds a change, which goes through the log of every group.
	changeTimeout = 30 * time.Second
	bodyMax       = 4 << 10 // BOUND: bytes of an id and an address.
)

// Routes returns the patterns that Handler serves.
func Routes() []string {
	return []string{
		"GET " + Base, "POST " + Base + "/nodes", "DELETE " + Base + "/nodes/{id}", "POST " + Base + "/nodes/{id}/promote",
		"POST " + Base + "/transfer", "POST " + Base + "/drain", "GET " + Base + "/backup", "GET " + Base + "/log", "GET " + ProfileBase + "/{kind}",
	}
}

// AdmitRequest is the body of a request to admit a node.
type AdmitRequest struct {
	ID      string `json:"id"`
	Address string `json:"address"` // HOST:PORT of its peer listener.
}

// TransferRequest is the body of a request to transfer a leadership.
type TransferRequest struct {
	Group uint16 `json:"group"`
	Node  string `json:"node"`
}

// Handler serves the API. REQUIRES: the caller of the API has been authorized to operate the cluster.
func Handler(c Cluster, publicURL string) http.Handler {
	h := handler{c, publicURL}
	mux := http.NewServeMux()
	for i, serve := range []func(http.ResponseWriter, *http.Request) error{
		h.status, h.admit, h.remove, h.promote, h.transfer, h.drain,
	} {
		mux.HandleFunc(Routes()[i], h.handle(serve))
	}
	mux.HandleFunc("GET "+Base+"/backup", h.serveBackup)
	mux.HandleFunc("GET "+Base+"/log", h.serveLog)
	mux.HandleFunc("GET "+ProfileBase+"/{kind}", h.handleFor(h.serveProfile, changeTimeout+ProfileSecondsMax*time.Second))
	return mux
}

type handler struct {
	cluster Cluster
	url     string
}

// Refused marks the error of a change that the cluster refuses in its current state. It is answered with 409.
func Refused(err error) error { return refused{err} }

type refused struct{ error }

// Unwrap returns the reason.
func (r refused) Unwrap() error { return r.error }

// errBody is returned for a body that cannot be decoded or lacks a member. It is answered with 400.
var errBody = errors.New("the body is not valid for this operation")

// errRequest is returned for a path or query that is not valid. It is answered with 400.
var errRequest = errors.New("the request is not valid")

func (h handler) handle(serve func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return h.handleFor(serve, changeTimeout)
}

func (h handler) handleFor(serve func(http.ResponseWriter, *http.Request) error, most time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), most)
		defer cancel()
		err := serve(w, r.WithContext(ctx))
		var final refused
		switch {
		case err == nil:
		case errors.Is(err, errBody), errors.Is(err, errRequest):
			h.refuse(w, apierr.BadRequest, err)
		case errors.As(err, &final):
			h.refuse(w, apierr.InvalidOperation, err)
		case r.Context().Err() != nil:
			h.refuse(w, apierr.RequestCanceled, nil)
		default: // The change was not possible now, or was not confirmed; it may be repeated.
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
	_, _ = w.Write(body) //nolint:gosec // JSON, and the listener sets nosniff. The client may be gone.
}

func read[T any](r *http.Request) (body T, err error) {
	d := json.NewDecoder(http.MaxBytesReader(nil, r.Body, bodyMax))
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil {
		return body, fmt.Errorf("%w: %w", errBody, err)
	}
	return body, nil
}

// writeDone answers a successful change, or returns err.
func writeDone(w http.ResponseWriter, err error) error {
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
	a, err := read[AdmitRequest](r)
	if err == nil && (a.ID == "" || a.Address == "") {
		err = fmt.Errorf("%w: id and address are needed", errBody)
	}
	if err != nil {
		return err
	}
	return writeDone(w, h.cluster.Admit(r.Context(), a.ID, a.Address))
}

func (h handler) remove(w http.ResponseWriter, r *http.Request) error {
	return writeDone(w, h.cluster.Remove(r.Context(), r.PathValue("id")))
}

func (h handler) promote(w http.ResponseWriter, r *http.Request) error {
	return writeDone(w, h.cluster.Promote(r.Context(), r.PathValue("id")))
}

func (h handler) transfer(w http.ResponseWriter, r *http.Request) error {
	t, err := read[TransferRequest](r)
	if err == nil && t.Node == "" {
		err = fmt.Errorf("%w: a node is needed", errBody)
	}
	if err != nil {
		return err
	}
	return writeDone(w, h.cluster.Transfer(r.Context(), t.Group, t.Node))
}

func (h handler) drain(w http.ResponseWriter, r *http.Request) error {
	return writeDone(w, h.cluster.Drain(r.Context()))
}
