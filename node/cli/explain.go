package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gavel-ads/gavel/node/serving"
)

// explainTimeout bounds the call: an auction of 50,000 products takes a second or two.
const explainTimeout = 30 * time.Second

const explainBodyMax, explainAnswerMax = 64 << 20, 64 << 20 // BOUND: bytes read into memory; the node's own bounds are lower.

// explainCommand lets a running node explain how the auctions of a request would end.
type explainCommand struct {
	Manage    string `help:"Management listener of a node. [GAVEL_MANAGE]" placeholder:"URL"`
	Key       string `help:"Management key of the marketplace. Prefer the variable: the process list shows flags. [GAVEL_MANAGE_KEY]" placeholder:"KEY"`
	Operation string `help:"Operation that the body is for: auctions, sponsored-brand or travel." enum:"auctions,sponsored-brand,travel" default:"auctions"`
	JSON      bool   `name:"json" help:"Print the answer as JSON."`
	File      string `arg:"" help:"File with a body of /v2/auctions, /v2/auctions/sponsored-brand or /v2/auctions/travel; - is standard input."`
}

// Run prints a table for each auction.
func (c *explainCommand) Run(p *process) error {
	body, err := c.read()
	if err != nil {
		return usageError{fmt.Errorf("gavel: %w", err)}
	}
	base := strings.TrimRight(cmp.Or(c.Manage, p.variable("GAVEL_MANAGE"), manageDefault), "/")
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	key := cmp.Or(c.Key, p.variable("GAVEL_MANAGE_KEY"))
	if key == "" {
		return usageError{errors.New("gavel: --key or GAVEL_MANAGE_KEY is needed: a management key of the marketplace")}
	}
	text, err := c.ask(base+"/public/v1/auctions/explain?operation="+url.QueryEscape(c.Operation), key, body)
	if err != nil {
		return err
	}
	if c.JSON {
		fmt.Fprintf(p.out, "%s\n", bytes.TrimSpace(text))
		return nil
	}
	var e serving.Explanation
	if err := json.Unmarshal(text, &e); err != nil {
		return fmt.Errorf("the answer cannot be decoded as an explanation: %w", err)
	}
	for i := range e.Auctions {
		printExplained(p.out, i, &e.Auctions[i])
	}
	return nil
}

func (c *explainCommand) read() ([]byte, error) {
	from := os.Stdin
	if c.File != "-" {
		file, err := os.Open(c.File)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }() // It was only read.
		from = file
	}
	return io.ReadAll(io.LimitReader(from, explainBodyMax))
}

func (c *explainCommand) ask(address, key string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), explainTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, usageError{fmt.Errorf("gavel: %w", err)}
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, errors.New("the node does not answer: " + err.Error())
	}
	defer func() { _ = answer.Body.Close() }() // It was read completely or failed.
	text, err := io.ReadAll(io.LimitReader(answer.Body, explainAnswerMax))
	if err != nil {
		return nil, fmt.Errorf("the answer is incomplete: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the node answered %s: %s", answer.Status, strings.TrimSpace(string(text)))
	}
	return text, nil
}

// printExplained prints the bids of one auction, and why each won or lost. Amounts are in minor units of the currency.
func printExplained(w io.Writer, i int, a *serving.ExplainedAuction) {
	if i > 0 {
		fmt.Fprintln(w)
	}
	lost := 0
	for _, n := range a.Lost {
		lost += int(n)
	}
	fmt.Fprintf(w, "auction %d: %s, %d of %d slots filled, %d bids lost\n", i, a.ResultType, a.Winners, a.Slots, lost)
	for _, note := range a.Notes {
		fmt.Fprintln(w, "  "+printable(note))
	}
	if len(a.Candidates) == 0 {
		fmt.Fprintln(w, "  no bid matches the request")
		return
	}
	fmt.Fprintln(w, "  amounts are minor units (35 is 0.35 EUR); bids, reserve and prices are per click (CPC), 1,000 impressions (CPM) or purchase (CPA)")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  OUTCOME\tBID ON\tVENDOR\tCAMPAIGN\tBID ID\tBID\tWORTH\tSHADED\tCOMPETING\tRESERVE\tLEFT\tHOLD\tWALLET\tWALLET HOLD\tPENDING\tPACING\tDRAW\tQUALITY\tCLICK RATE\tLEARNED\tSCORE\tPRICE\tNEEDED")
	for k := range a.Candidates {
		c := &a.Candidates[k]
		outcome, target := c.Reason, c.Type+" "+c.ID
		if c.Outcome == "won" {
			outcome = fmt.Sprintf("won, rank %d", c.Rank)
		}
		if c.VariationID != "" {
			target += " / " + c.VariationID
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.4g\t%.4g\t%.4g\t%.4g\t%.4g\t%.6g\t%s\t%s\n",
			outcome, printable(target), printable(cmp.Or(c.VendorID, c.DemandSource)), cmp.Or(c.CampaignID, "external"), bidOf(c), c.ChargeType, amountOf(c), c.Worth, c.Shaded, c.Competing,
			c.Reserve, dash(c.Remaining), dash(c.Hold), dash(c.Wallet), dash(c.WalletHold), dash(c.Pending), c.Pacing, c.Draw, c.Quality, c.ClickRate, c.Learned, c.Score, dash(c.Price), dash(c.Needed))
	}
	_ = t.Flush() // Writing to the command's output failed; there is nowhere else to report that.
	if a.Omitted > 0 {
		fmt.Fprintf(w, "  and %d more bids that lost\n", a.Omitted)
	}
}

// bidOf returns the id of a bid; for an external bid, its position in the request.
func bidOf(c *serving.Candidate) string {
	if c.DemandBid != nil {
		return fmt.Sprintf("demandSources bid %d", *c.DemandBid)
	}
	return cmp.Or(c.BidID, "-")
}

// amountOf returns the bid and, where a target return may lower it, the bid amount.
func amountOf(c *serving.Candidate) string {
	if c.Ceiling == "" {
		return c.Bid.String()
	}
	return c.Bid.String() + " of " + c.Ceiling.String()
}

// printable replaces control characters in names that clients chose, which could move the cursor of a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, text)
}

func dash(n json.Number) string { return cmp.Or(n.String(), "-") }
