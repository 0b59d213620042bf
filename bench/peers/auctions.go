package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/bench/traffic"
	"github.com/gavel-ads/gavel/loadtest/driver"
)

// rival is another ad server that runs already, such as Prebid Server or OpenAdServe. Its auctions are compared with Gavel's: one request
// each, the rival's with a body of its own.
type rival struct{ url, body, pids string }

// rivalName is the rival in the table.
const rivalName = "rival"

// exchanger sends the same request again and again. An answer of any 2xx is an auction.
type exchanger struct {
	conn *driver.Conn
	path string
	body []byte
}

func (x *exchanger) charge(int) (int, error) {
	status, answer, err := x.conn.Post(x.path, x.body)
	if err == nil && status/100 != 2 {
		err = fmt.Errorf("%d %.300s", status, answer)
	}
	return 1, err
}

func (x *exchanger) repeat() error { return nil }

func (x *exchanger) close() { x.conn.Close() }

// server is one side of the comparison.
type server struct {
	name string
	dial func() (client, error)
	pids []int
}

// server reads what the flags say about the rival. Without process ids its CPU time is not known, and 0 in the table.
func (v *rival) server() (server, error) {
	u, err := url.Parse(v.url)
	if err != nil || u.Scheme != "http" || u.Host == "" {
		return server{}, fmt.Errorf("-peer-url %q: want http://host:port/path", v.url)
	}
	body, err := os.ReadFile(v.body)
	if err != nil {
		return server{}, fmt.Errorf("-peer-body: %w", err)
	}
	s := server{name: rivalName, dial: func() (client, error) {
		c, err := driver.NewConn("http://"+u.Host, "none", exchangeMax)
		return &exchanger{c, u.RequestURI(), body}, err
	}}
	for field := range strings.FieldsFuncSeq(v.pids, func(r rune) bool { return r == ',' }) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return server{}, fmt.Errorf("-peer-pid %q: want numbers", v.pids)
		}
		s.pids = append(s.pids, pid)
	}
	return s, nil
}

// auctionServer returns Gavel as a side of the comparison: one auction over 50 products.
func (p *gavel) auctionServer() server {
	body := traffic.NewAuctions(p.products, 1, 1).Append(nil, 1, 50, 4)
	return server{name: gavelOf(1), pids: p.pids(), dial: func() (client, error) {
		c, err := driver.NewConn(p.fleet.Nodes[0].Auction, p.fleet.AuctionKey, exchangeMax)
		return &exchanger{c, "/v2/auctions", body}, err
	}}
}

var errNoGavel = errors.New("a rival is compared with the peer gavel, which is not among -peers")

// compareAuctions measures the auctions of the rival and of Gavel in turn.
func (r *result) compareAuctions(ctx context.Context, o *options, all []*started, say func(string, ...any)) error {
	i := slices.IndexFunc(all, func(s *started) bool { return s.name == gavelOf(1) })
	if i < 0 {
		return errNoGavel
	}
	other, err := o.rival.server()
	if err != nil {
		return err
	}
	sides := []server{all[i].peer.(*gavel).auctionServer(), other}
	for round := range o.rounds {
		for _, connections := range o.connections {
			for k := range sides {
				s := &sides[(k+round)%len(sides)]
				closed, open, err := s.measure(ctx, o, connections)
				if err != nil {
					return fmt.Errorf("%s: %w", s.name, err)
				}
				r.Auctions = recordIn(r.Auctions, cell{s.name, 1, connections}, closed, open)
				say("round %d: %-14s auctions, %2d connections: %.0f/s", round+1, s.name, connections, perSecond(closed))
				if failure := errors.Join(closed.Failure, open.Failure); failure != nil {
					r.Faults = append(r.Faults, fmt.Sprintf("%s: auctions: %v", s.name, failure))
				}
			}
		}
	}
	return nil
}

// measure makes the closed and the open loop of one side.
func (s *server) measure(ctx context.Context, o *options, connections int) (closed, open *sample, err error) {
	m := &meter{batch: 1, cpu: func() (time.Duration, error) { return treeCPU(s.pids) }}
	defer func() {
		for _, c := range m.clients {
			c.close()
		}
	}()
	for range connections {
		c, err := s.dial()
		if err != nil {
			return nil, nil, err
		}
		m.clients = append(m.clients, c)
	}
	plan, err := driver.ParsePlan(strconv.FormatFloat(o.rate, 'g', -1, 64), o.open)
	if err != nil {
		return nil, nil, err
	}
	m.warm()
	if open, err = m.run(ctx, plan); err != nil {
		return nil, nil, err
	}
	closed, err = m.run(ctx, driver.ClosedPlan(o.closed))
	return closed, open, err
}
