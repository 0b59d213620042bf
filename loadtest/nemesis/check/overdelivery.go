package check

import (
	"fmt"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

// Overdelivery checks promise P7: what campaigns delivered for nothing is counted, and it is bounded by what they had won
// before their budget or wallet was used up, and within limit after it: no node sells ads with an older replica. Slack is
// added for the measurement.
func Overdelivery(h *history.History, final *FinalState, limit, slack time.Duration) Result {
	v := Result{Check: fmt.Sprintf("over-delivery is counted, and no campaign wins later than %v after its money", limit)}
	of := charges(h)
	spans := usedUp(h)
	latest := time.Duration(0)
	won := h.Probed
	for _, c := range h.Campaigns() {
		for _, ch := range of[c] {
			won = append(won, ch.token)
		}
		compareOverdelivery(c, of[c], final.Reports[c], &v)
	}
	for _, t := range won {
		after := spans.age(t)
		latest = max(latest, after)
		v.Checked++
		if after > limit+slack {
			v.AddViolation("campaign %s won an ad %v after its money was used up, at %v", t.Campaign.Name, after, t.Invoke)
		}
	}
	v.Note = fmt.Sprintf("the latest win came %v after the money was used up, which %d reads showed, slack %v",
		latest.Round(time.Millisecond), spans.reads, slack)
	return v
}

// compareOverdelivery checks that every reported interaction of a campaign that it pays for was billed or counted as
// delivered for nothing, at the price of its token. What a daily budget delivers after its day is neither.
func compareOverdelivery(c *history.Campaign, all []*charge, r history.ReportRead, v *Result) {
	var least, most shop.Micros
	for _, ch := range all {
		most += ch.token.Price
		if ch.finish != history.Never && !c.Daily {
			least += ch.token.Price
		}
	}
	spent := r.Billed()
	if got := spent + r.Overdelivered; r.Overdelivered < 0 || got < least || got > most {
		v.AddViolation("campaign %s: %v spent and %v delivered for nothing, but %v to %v were delivered", c.Name, spent, r.Overdelivered, least, most)
	}
}

// span is a time in which a campaign surely has no money: from the answer of a read that says so, until the next attempt to
// give it more.
type span struct{ from, until history.Instant }

// exhausted are the spans of campaigns and of wallets.
type exhausted struct {
	reads     int // How many reads showed that there was no money.
	campaigns map[*history.Campaign][]span
	wallets   map[*history.Vendor][]span
}

func usedUp(h *history.History) exhausted {
	x := exhausted{0, map[*history.Campaign][]span{}, map[*history.Vendor][]span{}}
	for _, r := range h.Budgets {
		if r.Remaining > 0 || r.Campaign.Daily {
			continue
		}
		s := span{r.Return, history.Never}
		for _, c := range h.Changes {
			if c.Campaign == r.Campaign && c.Outcome != history.Refused && c.Return > r.Invoke {
				s.until = min(s.until, c.Invoke)
			}
		}
		x.reads++
		x.campaigns[r.Campaign] = append(x.campaigns[r.Campaign], s)
	}
	for _, r := range h.Wallets {
		if r.Balance > 0 {
			continue
		}
		s := span{r.Return, history.Never}
		for _, p := range h.Payments {
			if p.Vendor == r.Vendor && p.Amount > 0 && (p.Outcome != history.Refused || p.Doubtful) && p.Return > r.Invoke {
				s.until = min(s.until, p.Invoke)
			}
		}
		x.reads++
		x.wallets[r.Vendor] = append(x.wallets[r.Vendor], s)
	}
	return x
}

// age returns how long the money of a token's campaign had been used up when the auction was sent that it won; 0 when it
// may have had money.
func (x *exhausted) age(t *history.Token) (age time.Duration) {
	for _, all := range [][]span{x.campaigns[t.Campaign], x.wallets[t.Campaign.Vendor]} {
		for _, s := range all {
			if t.Invoke > s.from && t.Return <= s.until {
				age = max(age, t.Invoke-s.from)
			}
		}
	}
	return age
}
