package cells

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// BOUND: what one load balancer and one reader of its configuration can cope with.
const (
	cellsMax = 64
	nodesMax = 32     // Of a cell; a cluster has 5 voters and some more nodes.
	hostsMax = 1_000  // Of a cell.
	keysMax  = 10_000 // Of a cell; nginx and Envoy compare them one after the other.
)

// The patterns admit no character that has a meaning in a configuration of HAProxy, nginx or Envoy.
var (
	cellName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`)
	nodeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)
	hostName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$`)
	keyID    = regexp.MustCompile(`^[0-9A-Za-z]{8}$`)
	pemFile  = regexp.MustCompile(`^(/[A-Za-z0-9_][A-Za-z0-9._-]*)+$`)
)

// hostNameMax is the longest name of DNS.
const hostNameMax = 253

// checker collects faults, and where each value that must be unique was first.
type checker struct {
	faults []error
	first  map[string]string
}

func (c *checker) fault(at, format string, a ...any) {
	c.faults = append(c.faults, fmt.Errorf("%s: %s", at, fmt.Sprintf(format, a...)))
}

// pattern reports a text that does not match.
func (c *checker) pattern(at, text string, want *regexp.Regexp, meaning string) {
	if !want.MatchString(text) {
		c.fault(at, "want %s", meaning)
	}
}

// unique reports a value of a kind that occurs twice.
func (c *checker) unique(at, kind, value string) {
	key := kind + " " + value
	if earlier, again := c.first[key]; again {
		c.fault(at, "the same %s as %s", kind, earlier)
		return
	}
	c.first[key] = at
}

// most reports a list that is longer than its bound.
func (c *checker) most(at string, have, bound int) {
	if have > bound {
		c.fault(at, "%d entries, want at most %d", have, bound)
	}
}

// check reports every fault of the file.
func (f *File) check() error {
	c := &checker{first: map[string]string{}}
	c.listen("auction_listen", f.AuctionListen)
	c.listen("manage_listen", f.ManageListen)
	if f.Certificate != "" {
		c.pattern("certificate", f.Certificate, pemFile, "an absolute path of letters, digits, points, dashes and underscores")
	}
	if len(f.Cells) == 0 {
		c.fault("cells", "want at least one cell")
	}
	c.most("cells", len(f.Cells), cellsMax)
	found := f.Default == ""
	for i := range f.Cells {
		cell := &f.Cells[i]
		c.cell(fmt.Sprintf("cells[%d]", i), cell)
		found = found || cell.Name == f.Default
		if len(cell.Hosts)+len(cell.Keys) == 0 && (f.Default == "" || cell.Name != f.Default) {
			c.fault(fmt.Sprintf("cells[%d]", i), "want hosts or keys, because no request would reach this cell")
		}
	}
	if !found {
		c.fault("default", "want the name of a cell")
	}
	return errors.Join(c.faults...)
}

func (c *checker) cell(at string, cell *Cell) {
	c.pattern(at+".name", cell.Name, cellName, "a lower-case letter and at most 30 of a to z, 0 to 9 and _")
	c.unique(at+".name", "cell name", cell.Name)
	c.most(at+".hosts", len(cell.Hosts), hostsMax)
	for i, host := range cell.Hosts {
		place := fmt.Sprintf("%s.hosts[%d]", at, i)
		c.pattern(place, host, hostName, "a host name in lower case, without scheme and port")
		if len(host) > hostNameMax {
			c.fault(place, "%d characters, want at most %d", len(host), hostNameMax)
		}
		c.unique(place, "host name", host)
	}
	c.most(at+".keys", len(cell.Keys), keysMax)
	for i, id := range cell.Keys {
		place := fmt.Sprintf("%s.keys[%d]", at, i)
		c.pattern(place, id, keyID, "the 8 letters and digits of a key's id, as gavel keys list prints it")
		c.unique(place, "key id", id)
	}
	if len(cell.Nodes) == 0 {
		c.fault(at+".nodes", "want at least one node")
	}
	c.most(at+".nodes", len(cell.Nodes), nodesMax)
	for i := range cell.Nodes {
		c.node(fmt.Sprintf("%s.nodes[%d]", at, i), cell.Name, &cell.Nodes[i])
	}
}

func (c *checker) node(at, cell string, n *Node) {
	c.pattern(at+".name", n.Name, nodeName, "the id of the node: at most 63 letters, digits, dashes and underscores")
	c.unique(at+".name", "node name", cell+" "+n.Name)
	c.address(at+".auction", n.Auction)
	c.address(at+".manage", n.Manage)
	if n.Auction.Host() != n.Manage.Host() {
		c.fault(at+".manage", "want the host of auction, because /readyz of this listener decides about both")
	}
}

// address reports what is no HOST:PORT, and addresses that occur twice: cells share no node.
func (c *checker) address(at string, a Address) {
	host := a.Host()
	if _, err := netip.ParseAddr(host); err != nil || strings.Contains(host, "%") {
		c.pattern(at, host, hostName, "HOST:PORT with an IP address or a host name in lower case")
	}
	c.port(at, a)
	c.unique(at, "address", string(a))
}

// listen reports an address on which the load balancer cannot listen. Its host is empty or an IP address.
func (c *checker) listen(at, text string) {
	a := Address(text)
	if host := a.Host(); host != "" {
		if ip, err := netip.ParseAddr(host); err != nil || ip.Zone() != "" {
			c.fault(at, "want :PORT or IP:PORT")
		}
	}
	c.port(at, a)
	c.unique(at, "listen address", text)
}

func (c *checker) port(at string, a Address) {
	_, port, err := net.SplitHostPort(string(a))
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || n == 0 || net.JoinHostPort(a.Host(), strconv.FormatUint(n, 10)) != string(a) {
		c.fault(at, "want HOST:PORT with a port from 1 to 65535")
	}
}
