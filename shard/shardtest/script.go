package shardtest

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// Script runs the commands of a text on one machine and returns the text with the answers. A block consists of lines of
// commands, a line "----", the answers, and an empty line. Lines that start with # are comments.
//
//	time +90m                                          sets the proposers' clock, relative to the start
//	mode post carries=true                             sets the billing mode of the marketplace, and whether it
//	                                                   carries budgets over
//	deposit v1 1000 request=r1                         adjusts a wallet
//	campaign c1 vendor=v1 budget=500 period=daily bids=p1,p2
//	patch c1 budget=100 active=false status=terminated
//	click c1 e1/t1 e2/t1 price=100 charge=cpc issued=+0h   events by id and token; also impression
//	periods day=12 week=2 month=1                      applies an Advance
//	feature 6                                          raises the feature level
//	restart                                            opens a new machine on the same store
//	state                                              prints the whole state
func Script(text string) (string, error) {
	r, err := NewReplica(1, true, NewKV())
	if err != nil {
		return "", err
	}
	s := &script{r: r}
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		commands, _, _ := strings.Cut(block, "\n----")
		var answers []string
		for line := range strings.SplitSeq(commands, "\n") {
			if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
				answer, err := s.run(words)
				if err != nil {
					return "", fmt.Errorf("%s: %w", line, err)
				}
				answers = append(answers, answer...)
			}
		}
		fmt.Fprintf(&out, "%s\n", commands)
		if len(answers) > 0 {
			fmt.Fprintf(&out, "----\n%s\n", strings.Join(answers, "\n"))
		}
		out.WriteString("\n")
	}
	return strings.TrimRight(out.String(), "\n") + "\n", nil
}

type script struct {
	r         *Replica
	now       int64
	campaigns []string // Names; a campaign's ordinal is its position from 1.
}

// scriptStart is the time of a script's first command: 2026-11-20 00:00 UTC.
const scriptStart = 1_795_132_800_000

func (s *script) run(words []string) ([]string, error) {
	args, options := split(words[1:])
	now := scriptStart + s.now
	switch words[0] {
	case "time":
		d, err := time.ParseDuration(args[0])
		s.now = d.Milliseconds()
		return nil, err
	case "restart":
		r, err := NewReplica(1, true, s.r.KV)
		s.r = r
		return nil, err
	case "state":
		return s.state(), s.r.Queries().Verify()
	case "mode":
		m := model.Marketplace{Ordinal: 1, PostPaid: args[0] == "post", CarriesOver: options["carries"] == "true"}
		return s.answer(words, command.AppendPutMarketplace(nil, now, &m))
	case "feature":
		level := command.Level(number64(args[0])) // A script's.
		return s.answer(words, command.AppendSetFeature(nil, now, command.SetFeature{Level: level}))
	case "deposit":
		a := command.AdjustWallet{
			Request: named('r', options["request"]+strings.Join(words, " ")), Marketplace: 1, VendorID: args[0],
			Amount: money.Micros(number64(args[1])), Strict: true,
		}
		if id := options["request"]; id != "" {
			a.Request = named('r', id)
		}
		return s.answer(words, command.AppendAdjustWallet(nil, now, &a))
	case "campaign":
		return s.answer(words, command.AppendCreateCampaign(nil, now, s.campaign(args[0], options)))
	case "patch":
		return s.answer(words, command.AppendPatchCampaign(nil, now, s.patch(args[0], options)))
	case "periods":
		p := command.Periods{
			Marketplace: 1, Day: uint32(number64(options["day"])), Week: uint32(number64(options["week"])),
			Month: uint32(number64(options["month"])),
		}
		return s.answer(words, command.AppendAdvance(nil, now, &command.Advance{Periods: []command.Periods{p}}))
	case "click", "impression":
		return s.events(words[0], args, options)
	}
	return nil, fmt.Errorf("unknown command %q", words[0])
}

func split(words []string) (args []string, options map[string]string) {
	options = make(map[string]string)
	for _, w := range words {
		if name, value, ok := strings.Cut(w, "="); ok {
			options[name] = value
		} else {
			args = append(args, w)
		}
	}
	return args, options
}

func number64(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// named derives an id from a name.
func named(kind byte, name string) ids.UUID {
	u := ids.AccountOf(uint16(kind), name)
	u[0] = kind
	return u
}

func (s *script) answer(words []string, cmd []byte) ([]string, error) {
	r, err := command.ReadResult(s.r.Do(cmd))
	text := fmt.Sprintf("%s: %s", strings.Join(words[:min(2, len(words))], " "), r.Refusal)
	if words[0] == "deposit" && r.Refusal == command.Done {
		text += fmt.Sprintf(", balance %d", r.Balance)
	}
	return []string{text}, err
}

func (s *script) campaign(name string, options map[string]string) *command.CreateCampaign {
	x := &command.CreateCampaign{Campaign: model.Campaign{
		ID: named('c', name), Marketplace: 1, VendorID: options["vendor"], Name: name, Active: true, Status: model.Approved,
		Charge: model.CPC, Budget: money.Micros(number64(options["budget"])), Period: period(options["period"]),
		ExternalID: options["external"], CreatedMillis: scriptStart + s.now,
	}}
	x.Campaign.ID[15] = byte(ids.ShardOf(ids.AccountOf(1, options["vendor"])))
	for target := range strings.SplitSeq(options["bids"], ",") {
		x.Bids = append(x.Bids, model.Bid{ID: named('b', name+target), Target: target, Amount: 100, Active: true})
	}
	if s.ordinal(name) == 0 {
		s.campaigns = append(s.campaigns, name)
	}
	return x
}

func (s *script) ordinal(name string) uint32 {
	for i, known := range s.campaigns {
		if known == name {
			return uint32(i + 1)
		}
	}
	return 0
}

func period(name string) model.Period {
	return map[string]model.Period{"weekly": model.Weekly, "monthly": model.Monthly, "total": model.Total}[name]
}

func (s *script) patch(name string, options map[string]string) *command.PatchCampaign {
	c, _ := s.r.Queries().CampaignByOrdinal(s.ordinal(name))
	p := &command.PatchCampaign{Campaign: c.ID, Marketplace: 1}
	if v, ok := options["budget"]; ok {
		p.Budget = new(money.Micros(number64(v)))
	}
	if v, ok := options["period"]; ok {
		p.Period = new(period(v))
	}
	if v, ok := options["active"]; ok {
		p.Active = new(v == "true")
	}
	if options["status"] == "terminated" {
		p.Status = new(model.Terminated)
	}
	return p
}

func (s *script) events(kind string, args []string, options map[string]string) ([]string, error) {
	now := scriptStart + s.now
	e := command.Events{Marketplace: 1}
	issued, _ := time.ParseDuration(options["issued"])
	price := int64(100)
	if v, ok := options["price"]; ok {
		price = number64(v)
	}
	for _, arg := range args[1:] {
		id, token, _ := strings.Cut(arg, "/")
		r := command.EventRecord{
			Key: named('e', id), ChargeKey: named(kind[0], token), Kind: event.Impression, Charge: model.CPM,
			Bucket: event.BucketOf(now + issued.Milliseconds()), Cell: event.BucketOf(now) * 4, OccurredMillis: now,
			Campaign: s.ordinal(args[0]), Bid: 1, Price: money.Micros(price),
		}
		if kind == "click" {
			r.Kind, r.Charge = event.Click, model.CPC
		}
		e.Records = append(e.Records, r)
	}
	all, err := command.ReadEventResults(nil, s.r.Do(command.AppendEvents(nil, now, &e)))
	var lines []string
	for i, x := range all {
		lines = append(lines, fmt.Sprintf("%s %s: %s %d", kind, args[i+1], x.Outcome, x.Charged))
	}
	return lines, err
}

func (s *script) state() (lines []string) {
	b := s.r.Queries()
	line := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	shown := make(map[ids.UUID]bool)
	for i := range s.campaigns {
		c, found := b.CampaignByOrdinal(uint32(i + 1))
		if !found {
			continue
		}
		if w, _ := b.Wallet(c.Campaign.Wallet); !shown[w.ID] {
			shown[w.ID] = true
			line("wallet of %s: %d = %d deposited - %d spent", w.VendorID, w.Balance, w.Deposited, w.Spent)
		}
		n := b.CampaignCounters(c.ID, 0, math.MaxUint32)
		line("campaign %s: spent %d of %d in period %d, %d ever", c.Name, c.Money.Spent, c.Money.Amount, c.Money.Period, c.Money.SpentTotal)
		if c.Money.Carries() {
			line("  it carries over %d of %d that %d days left", c.Money.Carried, c.Money.Saved, c.Money.Days-1)
		}
		line("  %d clicks, %d charged %d; %d impressions, %d charged %d", n.Clicks, n.ChargedClicks, n.SpentClicks,
			n.Impressions, n.ChargedImpressions, n.SpentImpressions)
		slot := s.r.Feed.Balances[c.ID]
		line("  auctions see %s left, %s in the wallet", limit(slot.BudgetLeft.Load()), limit(slot.WalletBalance.Load()))
	}
	b.Journal(1, func(l *ledger.Line) bool {
		line("line %d: kind %d, %d of %d", l.Seq, l.Kind, l.Amount, l.Price)
		return true
	})
	line("%d records, digest %016x", s.r.KV.Len(), s.r.Machine.Digest())
	return lines
}

func limit(micros int64) string {
	if micros == math.MaxInt64 {
		return "no limit"
	}
	return strconv.FormatInt(micros, 10)
}
