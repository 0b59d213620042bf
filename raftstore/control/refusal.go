package control

import (
	"errors"
	"fmt"
)

// Refusal is the error of a node that answered and refused. It wraps the errors of Config.Reasons that the node named.
type Refusal struct {
	Address string // Where the node was asked.
	Text    string // Its reason.
	reasons []error
}

// Error says who refuses, and why.
func (r *Refusal) Error() string { return fmt.Sprintf("%s refuses: %s", r.Address, r.Text) }

// Unwrap returns the errors that the node named.
func (r *Refusal) Unwrap() []error { return r.reasons }

// refuse returns the message for an error of a handler.
func (p *Port) refuse(err error) *refusal {
	r := &refusal{Text: err.Error()}
	for _, reason := range p.c.Reasons {
		if errors.Is(err, reason.Error) {
			r.Reasons = append(r.Reasons, reason.Name)
		}
	}
	return r
}

// refusal returns the error for a refusal of the node at address. A reason that this node does not know is left out.
func (p *Port) refusal(address string, m *refusal) *Refusal {
	r := &Refusal{Address: address, Text: m.Text}
	for _, name := range m.Reasons {
		for _, reason := range p.c.Reasons {
			if reason.Name == name {
				r.reasons = append(r.reasons, reason.Error)
			}
		}
	}
	return r
}
