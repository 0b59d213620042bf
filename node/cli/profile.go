package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/gavel-ads/gavel/node/operator"
)

// profileCommand writes a profile of a running node to a file.
type profileCommand struct {
	target

	Kind    string `arg:"" optional:"" help:"cpu, trace, heap, allocs, goroutine or mutex." default:"cpu"`
	Seconds int    `help:"How long cpu and trace observe the node, 1 to 30." default:"10"`
	Out     string `help:"File to write; default: KIND.pprof, or trace.out." placeholder:"FILE"`
	Force   bool   `help:"Replace an existing file."`
}

// Help says how to read a profile.
func (profileCommand) Help() string {
	return `Read a profile with: go tool pprof -http : cpu.pprof, and a trace with: go tool trace trace.out. mutex shows which locks
were waited for since the start. A CPU profile costs the node about a hundredth of a CPU; a trace costs more. The key is one
of the first marketplace.`
}

// Run writes the profile.
func (c *profileCommand) Run(p *process) error {
	switch {
	case !slices.Contains(operator.ProfileKinds, c.Kind):
		return usageError{fmt.Errorf("gavel: the kinds of profiles are %s", strings.Join(operator.ProfileKinds, ", "))}
	case c.Seconds < 1 || c.Seconds > operator.ProfileSecondsMax:
		return usageError{fmt.Errorf("gavel: --seconds is 1 to %d", operator.ProfileSecondsMax)}
	}
	client, err := c.client(p)
	if err != nil {
		return err
	}
	if c.Out == "" {
		c.Out = c.Kind + ".pprof"
		if c.Kind == "trace" {
			c.Out = "trace.out"
		}
	}
	if _, err := os.Lstat(c.Out); err == nil && !c.Force {
		return usageError{fmt.Errorf("gavel: %s exists already; --force replaces it", c.Out)}
	}
	ctx, stop := untilSignal(context.Background())
	defer stop()
	err = writeAtomically(c.Out, func(f *os.File) error { return client.Profile(ctx, f, c.Kind, c.Seconds) }, func(*os.File) error { return nil })
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "%s is written\n", c.Out)
	return err
}
