// Package control asks other nodes questions over the peer port and answers theirs. An operation is a name with a Go
// type for its question and one for its answer, so both sides state what they exchange. A refusal carries the errors
// that the asking node may test for. Each question has a connection of its own, because questions are rare.
package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/raftstore/transport"
)

const (
	// BytesMax bounds a question and an answer, in bytes of JSON.
	BytesMax = 64 << 10
	// Timeout bounds a question and its answer.
	Timeout = 5 * time.Second
	// questionTimeout is how long a question may take to arrive. The asking node sends it right after the header.
	questionTimeout = 2 * time.Second
)

// Peer is a process of a node, on either side of a question.
type Peer struct {
	Node    string `json:"node"`
	Process string `json:"process"` // A random id of the process.
}

// Reason gives an error a name on the wire, so that errors.Is finds it on the asking side too.
type Reason struct {
	Name  string
	Error error
}

// Config is what a Port needs. All fields are required.
type Config struct {
	Self    Peer
	Dial    func(ctx context.Context, address string) (net.Conn, error)
	Context context.Context // Ends when the store closes.
	Reasons []Reason
}

// Port asks and answers questions for one node. Its methods are safe for concurrent use.
type Port struct {
	c        Config
	handlers map[string]handler
}

// handler answers one question. allowed is false when the certificate of the asking node does not allow it.
type handler func(ctx context.Context, names []string, secured bool, q question) (body any, allowed bool, err error)

// New returns a port without operations. REQUIRES: every operation is handled before the first call of Serve.
func New(c Config) *Port { return &Port{c: c, handlers: map[string]handler{}} }

// Operation is a question of type Q that has answers of type A.
type Operation[Q, A any] struct{ name string }

// Define returns the operation with a name, which must be the same in all nodes.
func Define[Q, A any](name string) Operation[Q, A] { return Operation[Q, A]{name} }

// Ask sends a question to the node at address and returns its answer and who gave it. A node that refuses is a
// *Refusal, beside its answer; any other error means that no answer came within Timeout.
func (o Operation[Q, A]) Ask(ctx context.Context, p *Port, address string, q Q) (a A, by Peer, err error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	body, err := json.Marshal(q)
	if err != nil {
		return a, by, err
	}
	c, err := p.c.Dial(ctx, address)
	if err != nil {
		return a, by, err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	var got answer
	if err := errors.Join(write(c, question{Operation: o.name, From: p.c.Self, Body: body}), read(c, &got)); err != nil {
		return a, by, err
	}
	if len(got.Body) > 0 {
		err = json.Unmarshal(got.Body, &a)
	}
	if got.Refusal != nil {
		err = errors.Join(p.refusal(address, got.Refusal), err)
	}
	return a, got.From, err
}

// Permission reports whether a node may ask a question, beyond that it asks in its own name.
type Permission[Q any] func(from Peer, q Q) bool

// Anyone lets every node with a certificate ask.
func Anyone[Q any](Peer, Q) bool { return true }

// Handle answers the questions of an operation. may decides by the certificate of the asking node; without certificates
// every question is allowed. The context of answer ends with the store, and after Timeout, when the asking node has
// left. An error of answer becomes a refusal, and the answer is sent beside it.
func (o Operation[Q, A]) Handle(p *Port, may Permission[Q], answer func(ctx context.Context, from Peer, q Q) (A, error)) {
	p.handlers[o.name] = func(ctx context.Context, names []string, secured bool, m question) (any, bool, error) {
		var q Q
		if err := json.Unmarshal(m.Body, &q); err != nil {
			return nil, true, err
		}
		if secured && !(slices.Contains(names, m.From.Node) && may(m.From, q)) {
			return nil, false, nil
		}
		a, err := answer(ctx, m.From, q)
		return a, true, err
	}
}

// Serve answers the question of one connection.
func (p *Port) Serve(c net.Conn) {
	if c.SetDeadline(time.Now().Add(questionTimeout)) != nil {
		return
	}
	var q question
	if read(c, &q) != nil || c.SetDeadline(time.Now().Add(2*Timeout)) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(p.c.Context, Timeout)
	defer cancel()
	names, secured := transport.Names(c)
	_ = write(c, p.answer(ctx, names, secured, q)) // After an error the asking node asks again.
}

// answer returns the message that answers a question.
func (p *Port) answer(ctx context.Context, names []string, secured bool, q question) answer {
	reply := answer{From: p.c.Self}
	handle := p.handlers[q.Operation]
	if handle == nil {
		reply.Refusal = &refusal{Text: fmt.Sprintf("unknown question %q", q.Operation)}
		return reply
	}
	body, allowed, err := handle(ctx, names, secured, q)
	if !allowed {
		reply.Refusal = &refusal{Text: "the certificate does not allow the question"}
		return reply
	}
	if err == nil || body != nil {
		var failed error
		reply.Body, failed = json.Marshal(body)
		err = errors.Join(err, failed)
	}
	if err != nil {
		reply.Refusal = p.refuse(err)
	}
	return reply
}
