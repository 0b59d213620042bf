package cells

import (
	"embed"
	"fmt"
	"net"
	"strings"
	"text/template"
)

//go:embed templates
var templates embed.FS

// plane is one of the two listeners that a node has, as the templates see it.
type plane struct {
	*File
	Name   string // auctions or management.
	Listen Address
	// Repeatable says that a request may be sent to a second node after a failure: auctions change nothing, and an event counts
	// once for each id.
	Repeatable bool
}

// planes returns both listeners of the load balancer.
func (f *File) planes() []plane {
	return []plane{
		{File: f, Name: "auctions", Listen: Address(f.AuctionListen), Repeatable: true},
		{File: f, Name: "management", Listen: Address(f.ManageListen)},
	}
}

// Upstream returns the address of a node's listener of this plane.
func (p plane) Upstream(n Node) Address {
	if p.Repeatable {
		return n.Auction
	}
	return n.Manage
}

// The answers of the load balancer itself, in the form of every error of Gavel; clients decode nothing else.
const (
	noCell      = `{"errCode":"resource_not_found","docUrl":"","message":"no cell serves this host or key","error":"Not Found"}`
	unavailable = `{"errCode":"service_unavailable","docUrl":"","message":"no node of the cell answers; repeat the request","error":"Service Unavailable"}`
)

// Render returns the configuration of haproxy, nginx or envoy. It returns an error for another program.
// REQUIRES: f was returned by Read.
func Render(program string, f *File) (string, error) {
	name := map[string]string{"haproxy": "haproxy.cfg", "nginx": "nginx.conf", "envoy": "envoy.yaml"}[program]
	if name == "" {
		return "", fmt.Errorf("no configuration for %q; there are haproxy, nginx and envoy", program)
	}
	t, err := template.New(name).Funcs(template.FuncMap{
		"noCell":      func() string { return noCell },
		"unavailable": func() string { return unavailable },
		"any":         func(a Address, all string) string { return net.JoinHostPort(orAll(a.Host(), all), a.Port()) },
		"host":        func(a Address, all string) string { return orAll(a.Host(), all) },
		"pattern":     func(host string) string { return strings.ReplaceAll(host, ".", "[.]") },
	}).ParseFS(templates, "templates/"+name)
	if err != nil {
		return "", fmt.Errorf("embedded template: %w", err)
	}
	var b strings.Builder
	if err := t.Execute(&b, f.planes()); err != nil {
		return "", fmt.Errorf("embedded template: %w", err)
	}
	return b.String(), nil
}

// orAll returns a host, or how a program writes that it listens on all addresses.
func orAll(host, all string) string {
	if host == "" {
		return all
	}
	return host
}
