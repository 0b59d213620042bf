package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/gavel-ads/gavel/node/operator"
)

const (
	topIntervalMin = 100 * time.Millisecond // BOUND: a scrape computes for some milliseconds on the node.
	topNodesMax    = 50                     // BOUND: what fits on a screen.
)

// topCommand shows what nodes do, again and again. It reads their metrics, which need no key.
type topCommand struct {
	Nodes    []string      `arg:"" optional:"" help:"Management listeners of the nodes, as URL or HOST:PORT; default: the node of this machine." placeholder:"NODE"`
	Interval time.Duration `help:"Time between two views." default:"2s"`
	Count    int           `help:"Number of views; 0: until Ctrl-C."`
}

// Run prints views until it is interrupted. That a node does not answer is part of the view; it is an error when none
// answers in the last one.
func (c *topCommand) Run(p *process) error {
	switch {
	case c.Interval < topIntervalMin:
		return usageError{fmt.Errorf("gavel: --interval is at least %v", topIntervalMin)}
	case len(c.Nodes) > topNodesMax:
		return usageError{fmt.Errorf("gavel: at most %d nodes", topNodesMax)}
	case c.Count < 0:
		return usageError{errors.New("gavel: --count is at least 0")}
	case len(c.Nodes) == 0:
		c.Nodes = []string{manageDefault}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	nodes := make([]*operator.LiveNode, len(c.Nodes))
	for i, name := range c.Nodes {
		nodes[i] = &operator.LiveNode{Name: name}
	}
	observe(ctx, nodes)
	ticker := time.NewTicker(c.Interval)
	defer ticker.Stop()
	for n := 0; c.Count == 0 || n < c.Count; n++ {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		observe(ctx, nodes)
		if ctx.Err() != nil {
			return nil
		}
		if err := show(p, nodes); err != nil {
			return err
		}
	}
	for _, n := range nodes {
		if n.Err == nil {
			return nil
		}
	}
	return errors.New("no node answers")
}

// observe scrapes all nodes at the same time.
func observe(ctx context.Context, nodes []*operator.LiveNode) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	var all sync.WaitGroup
	for _, n := range nodes {
		all.Go(func() { n.Observe(operator.Scrape(ctx, http.DefaultClient, n.Name)) })
	}
	all.Wait()
}

// clearScreen moves the cursor of a terminal to its corner and clears what is below.
const clearScreen = "\x1b[H\x1b[J"

// show prints one view: on a terminal over the one before, elsewhere below it.
func show(p *process, nodes []*operator.LiveNode) error {
	var view bytes.Buffer
	if p.terminal {
		view.WriteString(clearScreen)
	}
	if err := operator.WriteLive(&view, time.Now(), nodes); err != nil {
		return err
	}
	view.WriteByte('\n')
	_, err := p.out.Write(view.Bytes())
	return err
}
