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

// explainTimeout bounds the question: a body of 50,000 products takes a second or two.
const explainTimeout = 30 * time.Second

const explainBodyMax, explainAnswerMax = 64 << 20, 64 << 20 // BOUND: of what is read into memory; the node's own bounds are lower.

// explainCommand asks a running node what would become of the auctions of a file.
type explainCommand struct {
	Manage    string `help:"Management listener of a node. [GAVEL_MANAGE]" placeholder:"URL"`
	Key       string `help:"Management key of the marketplace. Prefer the variable: flags show in the process list. [GAVEL_MANAGE_KEY]" placeholder:"KEY"`
	Operation string `help:"Whose body it is: auctions, sponsored-brand or travel." enum:"auctions,sponsored-brand,travel" default:"auctions"`
	JSON      bool   `name:"json" help:"Print the answer as it came."`
	File      string `arg:"" help:"File with a body of /v2/auctions or of one of the operations below it; - is standard input."`
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
		return fmt.Errorf("the answer is no explanation: %w", err)
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
		defer func() { _ = file.Close() }() // Only read.
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
		return nil, errors.New("no answer: " + err.Error())
	}
	defer func() { _ = answer.Body.Close() }() // It has been read.
	text, err := io.ReadAll(io.LimitReader(answer.Body, explainAnswerMax))
	if err != nil {
		return nil, fmt.Errorf("the answer broke off: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the node answered %s: %s", answer.Status, strings.TrimSpace(string(text)))
	}
	return text, nil
}

// printExplained prints one auction: who won and why the others did not, amounts in minor units.
func printExplained(w io.Writer, i int, a *serving.ExplainedAuction) {
	if i > 0 {
		fmt.Fprintln(w)
	}
	lost := 0
	for _, n := range a.Lost {
		lost += int(n)
	}
	fmt.Fprintf(w, "auction %d: %s, %d of %d slots filled, %d bids lost\n", i, a.ResultType, a.Winners, a.Slots, lost)
	if len(a.Candidates) == 0 {
		fmt.Fprintln(w, "  no bid could have competed")
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  FATE\tBID ON\tVENDOR\tCAMPAIGN\tBID ID\tBID\tWORTH\tCOMPETING\tRESERVE\tLEFT\tWALLET\tPACING\tQUALITY\tSCORE\tPRICE\tNEEDED")
	for k := range a.Candidates {
		c := &a.Candidates[k]
		fate, target := c.Reason, c.Type+" "+c.ID
		if c.Outcome == "won" {
			fate = fmt.Sprintf("won, rank %d", c.Rank)
		}
		if c.VariationID != "" {
			target += " / " + c.VariationID
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s %s\t%s\t%s\t%s\t%s\t%s\t%.4g\t%.4g\t%.6g\t%s\t%s\n",
			fate, shown(target), shown(cmp.Or(c.VendorID, c.DemandSource)), cmp.Or(c.CampaignID, "external"), bidOf(c), c.ChargeType, c.Bid, c.Worth, c.Competing,
			c.Reserve, dash(c.Remaining), dash(c.Wallet), c.Pacing, c.Quality, c.Score, dash(c.Price), dash(c.Needed))
	}
	_ = t.Flush() // What it writes to is the command's output, whose errors nobody is left to hear.
	if a.Omitted > 0 {
		fmt.Fprintf(w, "  and %d more that lost\n", a.Omitted)
	}
}

// bidOf names a bid; an external one by its position in the request.
func bidOf(c *serving.Candidate) string {
	if c.DemandBid != nil {
		return fmt.Sprintf("demandSources bid %d", *c.DemandBid)
	}
	return cmp.Or(c.BidID, "-")
}

// shown keeps what others named from moving the cursor of a terminal.
func shown(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, text)
}

func dash(n json.Number) string { return cmp.Or(n.String(), "-") }
