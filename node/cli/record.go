package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/bench/pacing/record"
)

// recordCommand handles recorded auctions.
type recordCommand struct {
	Export recordExport `cmd:"" help:"Store the recorded auctions of a running node as traffic for gavel simulate."`
}

// recordExport asks a running node for its recorded auctions.
type recordExport struct {
	Manage string `help:"Management listener of a node. [GAVEL_MANAGE]" placeholder:"URL"`
	Key    string `help:"Management key of the marketplace. Prefer the variable: the process list shows flags. [GAVEL_MANAGE_KEY]" placeholder:"KEY"`
	File   string `arg:"" help:"File to write; - is standard output."`
}

// recordTimeout bounds the call: the node takes at most 5 seconds of CPU time for it.
const recordTimeout = 2 * time.Minute

// Help describes what is exported.
func (recordExport) Help() string {
	return `A node records one request for auctions in explain.sample, at most the newest 10,000 in 32 MB of memory, and forgets them
when it stops. This command stores which bids could have competed in them, with amounts, qualities, daily budgets and click
rates. The file contains nothing about shoppers or pages: no user id, query, location, product or token. It does contain the
budgets of all campaigns.

To cover a day, explain.sample must be at least the number of requests of a day that the node answers / 10,000. Each node
records only what it answers itself.

Example:
  gavel record export day.json && gavel simulate --traffic day.json --policies gavel --set-budget CAMPAIGN=40`
}

// Run stores the recording and says what it covers.
func (c *recordExport) Run(p *process) error {
	base := strings.TrimRight(cmp.Or(c.Manage, p.variable("GAVEL_MANAGE"), manageDefault), "/")
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	key := cmp.Or(c.Key, p.variable("GAVEL_MANAGE_KEY"))
	if key == "" {
		return usageError{errors.New("gavel: --key or GAVEL_MANAGE_KEY is needed: a management key of the marketplace")}
	}
	text, err := c.ask(base+"/public/v1/auctions/recorded", key)
	if err != nil {
		return err
	}
	r, err := record.Read(bytes.NewReader(text))
	if err != nil {
		return err
	}
	if c.File == "-" {
		_, err := p.out.Write(text)
		return err
	}
	if err := os.WriteFile(c.File, text, 0o600); err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%d auctions of %d campaigns, one request in %d, from %s to %s; %d requests left out\n", len(r.Auctions), len(r.Campaigns),
		r.Every, r.From.Format(time.RFC3339), r.To.Format(time.RFC3339), r.Omitted)
	if covered := r.Covered(); covered < 0.95 {
		fmt.Fprintf(p.out, "That is %s of 24 hours; gavel simulate reduces the budgets to that share.\n", r.To.Sub(r.From).Round(time.Second))
	}
	return nil
}

func (c *recordExport) ask(address, key string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, usageError{fmt.Errorf("gavel: %w", err)}
	}
	request.Header.Set("Authorization", "Bearer "+key)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, errors.New("the node does not answer: " + err.Error())
	}
	defer func() { _ = answer.Body.Close() }() // It was read completely or failed.
	text, err := io.ReadAll(io.LimitReader(answer.Body, record.SizeMax+1))
	if err != nil {
		return nil, fmt.Errorf("the answer is incomplete: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the node answered %s: %s", answer.Status, strings.TrimSpace(string(text)))
	}
	return text, nil
}
