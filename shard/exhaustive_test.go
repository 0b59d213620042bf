package shard_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// The small exhaustive model (T18): everything that can happen to a few commands between their clients and the books,
// breadth first, with the real machine. The log is reduced to what it promises: what a leader took in is committed in
// order, unless the leader is lost first, and then any beginning of it is. Everything else is left to chance: a client
// repeats whenever it likes, what was sent arrives whenever it likes or never, and answers get lost.

const (
	sendsMax   = 2 // Of one command.
	crashesMax = 2
	tailMax    = 3 // Entries that a leader took in and that are not committed.
)

// play is a number of clients with what each of them asks for, one after the other was answered.
type play struct {
	commands [][]byte
	clients  [][]int // Indexes of commands.
	start    func(*testing.T) *shardtest.Replica
	// books checks the books after a log: the commands in their order, with the answers.
	books func(r *shardtest.Replica, log string, answers [][]byte) error
	// settled checks them when some commands were answered.
	settled func(r *shardtest.Replica, answered []bool) error
}

// scene is a state of the whole. It is a key of a map.
type scene struct {
	log, tail string // Commands: one byte each.
	flying    [4]byte
	sent      [4]byte
	at        [3]byte // How many of its commands a client has answers to.
	crashes   byte
}

// next are all scenes that can follow.
func (p *play) next(s scene) (all []scene) {
	for client, asks := range p.clients {
		if at := int(s.at[client]); at < len(asks) && s.sent[asks[at]] < sendsMax {
			n := s
			n.sent[asks[at]]++
			n.flying[asks[at]]++
			all = append(all, n)
		}
	}
	for c := range p.commands {
		if s.flying[c] > 0 && len(s.tail) < tailMax {
			n := s
			n.flying[c]--
			n.tail += string(rune(c))
			all = append(all, n)
		}
	}
	if s.tail != "" {
		n := s
		n.log, n.tail = s.log+s.tail[:1], s.tail[1:]
		all = append(all, n) // Nobody hears of it.
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

// outcome is what a log leads to.
type outcome struct {
	replica *shardtest.Replica // Never restarted.
	answers [][]byte
}

// explore visits everything.
func (p *play) explore(t *testing.T) {
	logs := map[string]outcome{"": {replica: p.start(t)}}
	seen, queue := map[scene]bool{{}: true}, []scene{{}}
	for ; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		at := p.lead(t, logs, s.log)
		if err := p.settled(at.replica, p.answered(s)); err != nil {
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

// lead returns what a log leads to. The last command is applied by a machine that was never restarted, and by one that
// was restarted right before.
func (p *play) lead(t *testing.T, logs map[string]outcome, log string) outcome {
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
	if err := p.books(replica, log, o.answers); err != nil {
		t.Fatalf("log %q: %v", log, err)
	}
	check(t, replica.Books().Audit())
	logs[log] = o
	return o
}

func (p *play) answered(s scene) []bool {
	all := make([]bool, len(p.commands))
	for client, asks := range p.clients {
		for _, c := range asks[:s.at[client]] {
			all[c] = true
		}
	}
	return all
}

// Two campaigns of one account, three reports of which two are of one token, two crashes: every token is charged once,
// by its first report, never more than the price, the budget and the wallet have, and what was answered is there.
func TestEveryInterleavingOfThreeEvents(t *testing.T) {
	const price, budget, funds = 60, 59, 90 // One less, because off by one shows there.
	reports := []command.EventRecord{click(1, 1), click(2, 1), click(3, 2)}
	var commands [][]byte
	for i := range reports {
		reports[i].Campaign, reports[i].Price = uint32(1+i/2), price //nolint:gosec // few.
		commands = append(commands, command.AppendEvents(nil, benchNow, &command.Events{Marketplace: 1, Records: reports[i : i+1]}))
	}
	p := &play{
		commands: commands, clients: [][]int{{0}, {1}, {2}},
		start: func(t *testing.T) *shardtest.Replica {
			r := open(t, shardtest.NewKV())
			r.Do(setFeature(command.LevelNewest))
			r.Do(deposit(1, "v", funds))
			r.Do(create(1, "v", 1, budget))
			r.Do(create(1, "v", 2, 0))
			return r
		},
		books: func(r *shardtest.Replica, log string, answers [][]byte) error {
			return charged(r, log, answers, price, budget, funds)
		},
	}
	p.settled = func(r *shardtest.Replica, answered []bool) error {
		for i, was := range answered {
			c, _ := r.Books().Campaign(campaign(1, "v", byte(1+i/2)).ID)
			if was && c.Money.SpentTotal == 0 {
				return fmt.Errorf("report %d was answered, and its token was never charged", i)
			}
		}
		return nil
	}
	p.explore(t)
}

// charged says what a log of reports must have come to, with numbers of its own.
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
		c, _ := r.Books().Campaign(campaign(1, "v", byte(1+i)).ID)
		if c.Money.SpentTotal != micros(want) {
			return fmt.Errorf("campaign %d spent %d, want %d", i, c.Money.SpentTotal, want)
		}
	}
	return nil
}

// A manager changes a budget, is answered, and changes it again; another one switches the campaign off and on. Whatever
// arrives late and again, the newest answered change is in force.
func TestEveryInterleavingOfTwoChanges(t *testing.T) {
	id := campaign(1, "v", 1).ID
	patch := func(n byte, p command.PatchCampaign) []byte {
		p.Campaign, p.Marketplace = id, 1
		return command.AppendAttempt(command.AppendPatchCampaign(nil, benchNow, &p), command.Attempt{ID: [16]byte{n}})
	}
	p := &play{
		commands: [][]byte{
			patch(1, command.PatchCampaign{Budget: new(micros(200))}), patch(2, command.PatchCampaign{Budget: new(micros(300))}),
			patch(3, command.PatchCampaign{Active: new(false)}), patch(4, command.PatchCampaign{Active: new(true), Period: new(market.Total)}),
		},
		clients: [][]int{{0, 1}, {2, 3}},
		start: func(t *testing.T) *shardtest.Replica {
			r := open(t, shardtest.NewKV())
			r.Do(setFeature(command.LevelNewest))
			r.Do(create(1, "v", 1, 100))
			return r
		},
		books: func(_ *shardtest.Replica, log string, answers [][]byte) error {
			for i, a := range answers {
				if command.Refusal(a[0]) != command.Done {
					return fmt.Errorf("command %d is answered %x", i, a)
				}
			}
			return nil
		},
		settled: func(r *shardtest.Replica, answered []bool) error {
			c, _ := r.Books().Campaign(id)
			switch {
			case answered[1] && c.Budget != 300, answered[0] && c.Budget < 200:
				return fmt.Errorf("the budget is %d", c.Budget)
			case answered[3] && (!c.Active || c.Period != market.Total), answered[2] && c.Active && c.Period != market.Total:
				return fmt.Errorf("the campaign is active: %t", c.Active)
			}
			return nil
		},
	}
	p.explore(t)
}
