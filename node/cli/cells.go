package cli

import (
	"fmt"
	"os"

	"github.com/gavel-ads/gavel/node/cells"
)

// cellsCommand holds the commands about cells, which are clusters behind one load balancer.
type cellsCommand struct {
	Render cellsRender `cmd:"" help:"Write the configuration of a load balancer in front of several clusters to standard output."`
	Move   cellsMove   `cmd:"" help:"Close a marketplace and take the backup with which it moves to another cell."`
	Open   cellsOpen   `cmd:"" help:"Open a closed marketplace again, when it does not move after all."`
}

// cellsRender writes the configuration of a load balancer.
type cellsRender struct {
	Program string `arg:"" enum:"haproxy,nginx,envoy" help:"haproxy, nginx or envoy."`
	File    string `arg:"" help:"YAML file of the cells."`
}

// Help describes the file.
func (cellsRender) Help() string {
	return `A cell is a cluster that shares nothing with the others; each marketplace belongs to one. The load balancer sends a request to
the cell that lists the id of its key, else to the one that lists its host name, else to the default one. A key names no
marketplace by itself, so cells that share a host name list the ids of their keys, which gavel keys list prints.

  auction_listen: ":8080"          # where the load balancer accepts auctions and events
  manage_listen: "127.0.0.1:8081"  # where it accepts what is for the management listener
  certificate: /etc/gavel/ads.pem  # optional: chain and private key, for TLS with clients
  default: eu                      # optional; without it, requests that no cell lists are answered 404
  cells:
    - name: eu
      hosts: [ads.eu.example.com]
      keys: ["Ab3dEf9h"]
      nodes:
        - {name: n1, auction: "10.0.1.1:8080", manage: "10.0.1.1:8081"}

HAProxy and Envoy ask each node for /readyz. nginx without a subscription cannot; it leaves out nodes that refuse requests.
The nodes are reached over plain HTTP, so they need server.plain_http and a private network, and server.trusted_proxies.`
}

// Run prints the configuration. Nothing is printed for a file with faults.
func (c *cellsRender) Run(p *process) error {
	text, err := os.ReadFile(c.File)
	if err != nil {
		return usageError{fmt.Errorf("gavel: %w", err)}
	}
	f, err := cells.Read(text)
	if err != nil {
		return usageError{fmt.Errorf("%w\ngavel: %s has faults; nothing was rendered", err, c.File)}
	}
	rendered, err := cells.Render(c.Program, f)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(p.out, rendered)
	return err
}
