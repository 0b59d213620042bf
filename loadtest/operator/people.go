package main

import (
	"context"
	"fmt"

	"github.com/gavel-ads/gavel/loadtest/driver"
)

const bobEmail = "bob@example.com"

// alternating is a value that each change sets to the other one of two.
type alternating [2]string

func (a *alternating) now() string   { return a[0] }
func (a *alternating) other() string { return a[1] }
func (a *alternating) changed()      { a[0], a[1] = a[1], a[0] }

// people ends sessions of users of the console.
type people struct {
	nodes            []*driver.Node
	admin            *session
	bob              string // The id of the user whose sessions end.
	roles, passwords alternating
	removed          int
}

// probes read the session at every node.
func (p *people) probes(s *session) (all []probe) {
	for i, n := range p.nodes {
		all = append(all, probe{fmt.Sprintf("n%d, console", i+1), func(ctx context.Context) (int, error) {
			status, _, err := s.send(ctx, "GET", n.Manage+consoleAPI+"/session", "")
			return status, err
		}})
	}
	return all
}

// passwordChange ends a session by a change of the password in another browser.
func (p *people) passwordChange(ctx context.Context, node int) ([]probe, func(context.Context) error, error) {
	own, err := signIn(ctx, p.at(node), bobEmail, p.passwords.now())
	if err != nil {
		return nil, nil, err
	}
	elsewhere, err := signIn(ctx, p.at(node+1), bobEmail, p.passwords.now())
	if err != nil {
		return nil, nil, err
	}
	return p.probes(elsewhere), func(ctx context.Context) error {
		body := fmt.Sprintf(`{"current":%q,"new":%q}`, p.passwords.now(), p.passwords.other())
		if err := own.must(ctx, "PUT", p.at(node)+consoleAPI+"/password", body, nil); err != nil {
			return err
		}
		p.passwords.changed()
		return nil
	}, nil
}

// roleChange ends a session by a change of the role by an admin.
func (p *people) roleChange(ctx context.Context, node int) ([]probe, func(context.Context) error, error) {
	s, err := signIn(ctx, p.at(node+1), bobEmail, p.passwords.now())
	if err != nil {
		return nil, nil, err
	}
	return p.probes(s), func(ctx context.Context) error {
		p.roles.changed()
		return p.admin.must(ctx, "PATCH", p.at(node)+consoleAPI+"/users/"+p.bob, fmt.Sprintf(`{"role":%q}`, p.roles.now()), nil)
	}, nil
}

// removal ends the session of a new user by its removal.
func (p *people) removal(ctx context.Context, node int) ([]probe, func(context.Context) error, error) {
	p.removed++
	email := fmt.Sprintf("removed-%d@example.com", p.removed)
	s, id, err := p.admin.invite(ctx, p.at(node+1), email, "analyst", adminPassword)
	if err != nil {
		return nil, nil, err
	}
	return p.probes(s), func(ctx context.Context) error {
		return p.admin.must(ctx, "DELETE", p.at(node)+consoleAPI+"/users/"+id, "", nil)
	}, nil
}

// at returns the base URL of a node; numbers beyond the last one begin again.
func (p *people) at(node int) string { return p.nodes[node%len(p.nodes)].Manage }
