// Package virtual runs one day of a marketplace in virtual time: several nodes that run real auctions (shard/auction)
// over views of their own (shard/market), a leader that bills clicks in the order of their commits (shard/ledger) and
// steers campaigns once a second (a policy), and a network between them that is late and loses reports.
//
// Run depends on its arguments only. It uses one goroutine.
package virtual

import (
	"context"
	"errors"
	"fmt"

	"github.com/gavel-ads/gavel/bench/pacing/policy"
	"github.com/gavel-ads/gavel/bench/pacing/scenario"
)

// Config is how the nodes work together.
type Config struct {
	Nodes     int
	LagMillis int64   // Time from one node to another: of a report to the leader, and of a balance or a pacing word back.
	Loss      float64 // Share of reports that are lost. The next one repairs that, because reports carry totals.
	Skew      float64 // Node k gets traffic in proportion to (k+1)^-Skew.
	Hold      bool    // Money is kept for ads whose clicks are still to come.
	Unlimited bool    // Campaigns have no budget: what they would spend without a limit.
	Faults    []Fault
}

// Fault is something that fails for a while.
type Fault struct {
	Kind   FaultKind
	Node   int // Of Partition and Kill.
	From   int64
	Length int64
}

// FaultKind is what fails.
type FaultKind uint8

// The faults. A node that is partitioned neither sends nor receives; a killed one loses what it did not report and
// starts again empty; without a leader nothing is billed and no word changes.
const (
	Partition FaultKind = iota
	Kill
	LeaderLoss
)

func (f *Fault) at(millis int64) bool { return millis >= f.From && millis < f.From+f.Length }

const (
	nodesMax   = 256
	lagMax     = 600_000
	second     = int64(1000)
	minute     = 60 * second
	staleAfter = 3 * second         // A node stops selling for a group without contact to its leader for this long.
	drain      = 12 * scenario.Hour // Clicks are billed this long after the day's last request.
)

// Validate returns every fault of the configuration, joined.
func (c *Config) Validate() error {
	var faults []error
	if c.Nodes < 1 || c.Nodes > nodesMax {
		faults = append(faults, fmt.Errorf("%d nodes; there must be from 1 to %d", c.Nodes, nodesMax))
	}
	if c.LagMillis < 0 || c.LagMillis > lagMax {
		faults = append(faults, fmt.Errorf("the lag is %d ms; it must be from 0 to %d", c.LagMillis, lagMax))
	}
	if !(c.Loss >= 0 && c.Loss < 1) {
		faults = append(faults, fmt.Errorf("the loss is %g; it must be from 0 to below 1", c.Loss))
	}
	return errors.Join(faults...)
}

// simulation is one run.
type simulation struct {
	day     *scenario.Day
	config  *Config
	policy  policy.Policy
	observe policy.Observer // Nil if the policy is none; likewise admit.
	admit   policy.Admitter
	nodes   []*node
	share   []float64 // Cumulative share of the traffic by node.
	leader  *leader
	clicks  clickQueue
	commits []commit // Balances on their way to the nodes, in order of time, from commit next on.
	next    int
	now     int64
	edit    int
	request request
	out     *Outcome
}

// Run runs the day under a policy. It returns the error of ctx if that ends first.
func Run(ctx context.Context, day *scenario.Day, config *Config, rates *Rates, p policy.Policy) (*Outcome, error) {
	s := &simulation{day: day, config: config, policy: p, out: newOutcome(day)}
	s.observe, _ = p.(policy.Observer)
	s.admit, _ = p.(policy.Admitter)
	s.share = shares(config.Nodes, config.Skew)
	for number := range config.Nodes {
		s.nodes = append(s.nodes, newNode(number, day, config))
	}
	s.leader = newLeader(day, config, rates)
	s.request.init(s.nodes[0].market.View(), day)
	next, external := 0, 0
	for s.now = 0; s.now < scenario.DayMillis; s.now += second {
		if s.now%minute == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		s.tick()
		for next < len(day.Requests) && day.Requests[next].Millis < s.now+second {
			external = s.serve(next, external)
			next++
		}
	}
	s.advance(scenario.DayMillis + drain)
	s.out.finish(s.leader)
	return s.out, nil
}

// tick does what happens once a second: the leader takes the reports of the nodes, decides, and sends.
func (s *simulation) tick() {
	s.advance(s.now)
	for s.edit < len(s.day.Edits) && s.day.Edits[s.edit].Millis <= s.now {
		e := s.day.Edits[s.edit]
		s.leader.edit(e.Campaign, e.Budget)
		s.commits = append(s.commits, commit{at: s.now + s.config.LagMillis, campaign: e.Campaign, left: s.leader.left(int(e.Campaign))})
		s.edit++
	}
	for _, n := range s.nodes {
		s.setLinks(n)
	}
	if s.faulty(LeaderLoss, -1) {
		s.leader.down = true
	} else {
		s.leader.tick(s)
	}
	for _, n := range s.nodes {
		n.receive(s.leader, s.now)
	}
	if s.now%minute == 0 {
		s.out.sample(int(s.now/minute), s.nodes)
	}
}

// setLinks applies the faults of the current second to a node.
func (s *simulation) setLinks(n *node) {
	killed := s.faulty(Kill, n.number)
	if killed && !n.dead {
		n.kill(s)
	}
	n.dead = killed
	n.linked = !killed && !s.faulty(Partition, n.number)
	if n.linked && !s.faulty(LeaderLoss, -1) {
		n.contact = s.now
	}
}

// faulty reports whether a fault of a kind is in force, on a node or, with -1, anywhere.
func (s *simulation) faulty(kind FaultKind, node int) bool {
	for i := range s.config.Faults {
		f := &s.config.Faults[i]
		if f.Kind == kind && (node < 0 || f.Node == node) && f.at(s.now) {
			return true
		}
	}
	return false
}

// advance bills the clicks and delivers the balances that are due until a time, in order of time.
func (s *simulation) advance(until int64) {
	for {
		deliver := s.next < len(s.commits) && s.commits[s.next].at <= until
		bill := len(s.clicks) > 0 && s.clicks[0].at <= until
		if deliver && (!bill || s.commits[s.next].at <= s.clicks[0].at) {
			s.deliver(&s.commits[s.next])
			s.next++
			continue
		}
		if !bill {
			break
		}
		s.bill(s.clicks.pop())
	}
	if s.next == len(s.commits) {
		s.commits, s.next = s.commits[:0], 0
	}
}

// commit is a balance on its way to the nodes.
type commit struct {
	at       int64
	campaign int32
	left     int64
}

// deliver stores a balance on every node that can be reached. A node that cannot gets all balances when it can again.
func (s *simulation) deliver(c *commit) {
	for _, n := range s.nodes {
		if n.linked {
			n.balances[c.campaign].BudgetLeft.Store(c.left)
		} else {
			n.behind = true
		}
	}
}

// bill charges a click. Without a leader, and behind a partition, an event waits.
func (s *simulation) bill(c click) {
	if end := s.blocked(&c); end > c.at {
		c.at = end
		s.clicks.push(c)
		return
	}
	i := int(c.campaign)
	charged := s.leader.charge(i, c.price)
	s.leader.learnClick(i)
	s.out.click(i, c.price, charged)
	s.commits = append(s.commits, commit{at: c.at + s.config.LagMillis, campaign: c.campaign, left: s.leader.left(i)})
}

// lost reports whether the report of a node at the current second is lost.
func (s *simulation) lost(node int) bool {
	return s.config.Loss > 0 && s.day.Uniform(int(s.now/second)*len(s.nodes)+node, loss) < s.config.Loss
}

// blocked returns when a click can be committed, if not now.
func (s *simulation) blocked(c *click) (until int64) {
	for i := range s.config.Faults {
		f := &s.config.Faults[i]
		if f.at(c.at) && (f.Kind == LeaderLoss || f.Kind == Partition && f.Node == int(c.node)) {
			until = max(until, f.From+f.Length)
		}
	}
	return until
}
