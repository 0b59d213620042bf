package shard_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// These tests explore exhaustively, breadth first and with the real machine, everything that can happen to a few
// commands between their clients and the state. The Raft log is reduced to its promise: entries that a leader has
// appended are committed in order, or, if the leader is lost first, any prefix of them is. Everything else is
// arbitrary: a client repeats at any time, a sent command arrives at any time or never, and answers get lost.

const (
	sendsMax   = 2 // How often one command is sent.
	crashesMax = 2
	tailMax    = 3 // Entries that a leader has appended and that are not committed.
)

// explorer is a set of clients, each with commands that it sends one after the other, when the previous one was
// answered.
type explorer struct {
	commands [][]byte
	clients  [][]int // Indexes of commands.
	start    func(*testing.T) *shardtest.Replica
	// checkLog checks the state after a log, given the commands in their order and the answers.
	checkLog func(r *shardtest.Replica, log string, answers [][]byte) error
	// checkAnswered checks the state when the marked commands were answered.
	checkAnswered func(r *shardtest.Replica, answered []bool) error
}

// searchState is a state of clients, network and log. It is used as a key of a map.
type searchState struct {
	log, tail string // Commands: one byte each.
	inFlight  [4]byte
	sent      [4]byte
	at        [3]byte // For each client, how many of its commands were answered.
	crashes   byte
}

// next returns all states that can follow.
func (p *explorer) next(s searchState) (all []searchState) {
	for client, asks := range p.clients {
		if at := int(s.at[client]); at < len(asks) && s.sent[asks[at]] < sendsMax {
			n := s
			n.sent[asks[at]]++
			n.inFlight[asks[at]]++
			all = append(all, n)
		}
	}
	for c := range p.commands {
		if s.inFlight[c] > 0 && len(s.tail) < tailMax {
			n := s
			n.inFlight[c]--
			n.tail += string(rune(c))
			all = append(all, n)
		}
	}
	if s.tail != "" {
		n := s
		n.log, n.tail = s.log+s.tail[:1], s.tail[1:]
		all = append(all, n) // The answer is lost.
		for client, asks := range p.clients {
			if at := int(s.at[client]); at < len(asks) && asks[at] == int(s.tail[0]) {
				n.at[client]++
				all = append(all, n)
			}
		}
	}
	if s.crashes < crashesMax {
		for survives := range len(s.tail) + 1 {
			n := s
			n.crashes++
			n.tail = s.tail[:survives]
			all = append(all, n)
		}
	}
	return all
}

// outcome is the result of a log.
type outcome struct {
	replica *shardtest.Replica // Never restarted.
	answers [][]byte
}

// explore visits all reachable states.
func (p *explorer) explore(t *testing.T) {
	logs := map[string]outcome{"": {replica: p.start(t)}}
	seen, queue := map[searchState]bool{{}: true}, []searchState{{}}
	for ; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		at := p.outcomeOf(t, logs, s.log)
		if err := p.checkAnswered(at.replica, p.answered(s)); err != nil {
			t.Fatalf("log %q, answered %v: %v", s.log, p.answered(s), err)
		}
		for _, n := range p.next(s) {
			if !seen[n] {
				seen[n] = true
				queue = append(queue, n)
			}
		}
	}
	t.Logf("%d states, %d logs", len(seen), len(logs))
	if len(seen) < 10_000 {
		t.Error("too few states to mean anything")
	}
}

// outcomeOf returns the result of a log. The last command is applied by a machine that was never restarted, and by one
// that was restarted just before.
func (p *explorer) outcomeOf(t *testing.T, logs map[string]outcome, log string) outcome {
	if o, known := logs[log]; known {
		return o
	}
	before := logs[log[:len(log)-1]]
	cmd := p.commands[log[len(log)-1]]
	replica := p.start(t)
	for i := range log[:len(log)-1] {
		replica.Do(p.commands[log[i]])
	}
	answer := replica.Do(cmd)
	restarted := open(t, before.replica.KV.Copy())
	again := restarted.Do(cmd)
	if !slices.Equal(answer, again) || restarted.Machine.Digest() != replica.Machine.Digest() {
		t.Fatalf("log %q: a machine that was restarted answers %x, not %x", log, again, answer)
	}
	o := outcome{replica, append(slices.Clip(before.answers), answer)}
	if err := p.checkLog(replica, log, o.answers); err != nil {
		t.Fatalf("log %q: %v", log, err)
	}
	check(t, replica.Queries().Verify())
	logs[log] = o
	return o
}

func (p *explorer) answered(s searchState) []bool {
	all := make([]bool, len(p.commands))
	for client, asks := range p.clients {
		for _, c := range asks[:s.at[client]] {
			all[c] = true
		}
	}
	return all
}

// There are two campaigns of one account, three events of which two have the same token, and two crashes. Every token
// is charged once, by its first event, and at most by the price and what budget and wallet have left; answered events
// are kept.
func TestEveryInterleavingOfThreeEvents(t *testing.T) {
	const price, budget, funds = 60, 59, 90 // The budget is one less than the price, to find off-by-one errors.
	reports := []command.EventRecord{click(1, 1), click(2, 1), click(3, 2)}
	var commands [][]byte
	for i := range reports {
		reports[i].Campaign, reports[i].Price = uint32(1+i/2), price
		commands = append(commands, command.AppendEvents(nil, benchNow, &command.Events{Marketplace: 1, Records: reports[i : i+1]}))
	}
	p := &explorer{
		commands: commands, clients: [][]int{{0}, {1}, {2}},
		start: func(t *testing.T) *shardtest.Replica {
			r := open(t, shardtest.NewKV())
			r.Do(setFeature(command.LevelNewest))
			r.Do(deposit(1, "v", funds))
			r.Do(create(1, "v", 1, budget))
			r.Do(create(1, "v", 2, 0))
			return r
		},
		checkLog: func(r *shardtest.Replica, log string, answers [][]byte) error {
			return charged(r, log, answers, price, budget, funds)
		},
	}
	p.checkAnswered = func(r *shardtest.Replica, answered []bool) error {
		for i, was := range answered {
			c, _ := r.Queries().Campaign(campaign(1, "v", byte(1+i/2)).ID)
			if was && c.Money.SpentTotal == 0 {
				return fmt.Errorf("report %d was answered, and its token was never charged", i)
			}
		}
		return nil
	}
	p.explore(t)
}

// charged checks the result of a log of events against its own computation.
func charged(r *shardtest.Replica, log string, answers [][]byte, price, budget, funds int) error {
	seen, paid, spent := map[byte]bool{}, map[byte]bool{}, [2]int{}
	for i := range log {
		report, token := log[i], log[i]/2
		var want command.EventResult
		left := []int{budget, price}[token] - spent[token]
		amount := max(0, min(price, left, funds-spent[0]-spent[1]))
		switch {
		case seen[report]:
			want.Outcome = command.Duplicate
		case paid[token]:
			want.Outcome = command.AlreadyCharged
		default:
			spent[token] += amount
			want = command.EventResult{Outcome: command.Clipped, Charged: micros(amount), Clipped: micros(price - amount)}
			if amount == price {
				want.Outcome = command.Charged
			}
		}
		seen[report], paid[token] = true, true
		got, err := command.ReadEventResults(nil, answers[i])
		if err != nil || len(got) != 1 || got[0] != want {
			return fmt.Errorf("report %d is answered %+v, %w, want %+v", i, got, err, want)
		}
	}
	for i, want := range spent {
		c, _ := r.Queries().Campaign(campaign(1, "v", byte(1+i)).ID)
		if c.Money.SpentTotal != micros(want) {
			return fmt.Errorf("campaign %d spent %d, want %d", i, c.Money.SpentTotal, want)
		}
	}
	return nil
}

// One client changes a budget, is answered, and changes it again; another one switches the campaign off and on.
// Whatever arrives late or repeatedly, the newest answered change is in force.
func TestEveryInterleavingOfTwoChanges(t *testing.T) {
	id := campaign(1, "v", 1).ID
	patch := func(n byte, p command.PatchCampaign) []byte {
		p.Campaign, p.Marketplace = id, 1
		return command.AppendAttempt(command.AppendPatchCampaign(nil, benchNow, &p), command.Attempt{ID: [16]byte{n}})
	}
	p := &explorer{
		commands: [][]byte{
			patch(1, command.PatchCampaign{Budget: new(micros(200))}), patch(2, command.PatchCampaign{Budget: new(micros(300))}),
			patch(3, command.PatchCampaign{Active: new(false)}), patch(4, command.PatchCampaign{Active: new(true), Period: new(model.Total)}),
		},
		clients: [][]int{{0, 1}, {2, 3}},
		start: func(t *testing.T) *shardtest.Replica {
			r := open(t, shardtest.NewKV())
			r.Do(setFeature(command.LevelNewest))
			r.Do(create(1, "v", 1, 100))
			return r
		},
		checkLog: func(_ *shardtest.Replica, log string, answers [][]byte) error {
			for i, a := range answers {
				if command.Refusal(a[0]) != command.Done {
					return fmt.Errorf("command %d is answered %x", i, a)
				}
			}
			return nil
		},
		checkAnswered: func(r *shardtest.Replica, answered []bool) error {
			c, _ := r.Queries().Campaign(id)
			switch {
			case answered[1] && c.Budget != 300, answered[0] && c.Budget < 200:
				return fmt.Errorf("the budget is %d", c.Budget)
			case answered[3] && (!c.Active || c.Period != model.Total), answered[2] && c.Active && c.Period != model.Total:
				return fmt.Errorf("the campaign is active: %t", c.Active)
			}
			return nil
		},
	}
	p.explore(t)
}
