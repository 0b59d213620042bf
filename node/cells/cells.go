// Package cells writes the configuration of a load balancer in front of several clusters, which are called cells.
//
// A cell is a cluster of its own: it shares nothing with the others, and each marketplace belongs to one of them. So a request
// has to reach the right cell. An API key names no marketplace: it is gavel_auc_ or gavel_mgt_, a public id of eight characters,
// and a secret. Therefore the file of cells lists for each cell the host names of its storefronts and operators, and, where
// cells share a host name, the ids of their keys. The id of a key decides before the host name.
//
// The load balancer authenticates nobody. A key that is sent to the wrong cell is unknown there and refused.
package cells

import (
	"bytes"
	"errors"
	"io"
	"net"

	"github.com/goccy/go-yaml"
)

// BOUND: a file of 64 cells with 1,000 keys each has about this size. Load balancers read the rendered lists line by line.
const fileMax = 1 << 20

// File is a file of cells. What Read returned is valid: every text of it can be written into a configuration as it is.
type File struct {
	AuctionListen string `yaml:"auction_listen"` // Where the load balancer accepts auctions and events, such as :8080.
	ManageListen  string `yaml:"manage_listen"`  // Where it accepts what is for the management listener.
	Certificate   string `yaml:"certificate"`    // PEM file of certificate chain and private key, for TLS with clients; may be empty.
	Default       string `yaml:"default"`        // Cell of the requests that no key or host assigns; empty: they are answered 404.
	Cells         []Cell `yaml:"cells"`
}

// Cell is one cluster.
type Cell struct {
	Name  string   `yaml:"name"`
	Hosts []string `yaml:"hosts"` // Host names of its requests, in lower case.
	Keys  []string `yaml:"keys"`  // Ids of its keys, as gavel keys list prints them.
	Nodes []Node   `yaml:"nodes"`
}

// Node is a node of a cell, with the addresses at which the load balancer connects to its listeners.
type Node struct {
	Name    string  `yaml:"name"`
	Auction Address `yaml:"auction"`
	Manage  Address `yaml:"manage"`
}

// Address is HOST:PORT.
type Address string

// Host returns the host without the brackets of an IPv6 address; empty means every address of the machine.
func (a Address) Host() string {
	host, _, _ := net.SplitHostPort(string(a)) // A valid file has no other form.
	return host
}

// Port returns the port.
func (a Address) Port() string {
	_, port, _ := net.SplitHostPort(string(a)) // As above.
	return port
}

// Read reads and checks a file. The error joins all faults, each with its place in the file and without the wrong value, which
// may be the secret of a key.
func Read(text []byte) (*File, error) {
	if len(text) > fileMax {
		return nil, errors.New("the file is larger than 1 MiB")
	}
	f := &File{}
	decoder := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict())
	if err := decoder.Decode(f); err != nil && !errors.Is(err, io.EOF) { // An empty file lacks everything, which check says.
		return nil, errors.New(yaml.FormatError(err, false, false))
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	return f, nil
}
