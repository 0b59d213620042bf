package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/node/config"
)

// healthTimeout bounds the request: a node that needs longer is not healthy.
const healthTimeout = 2 * time.Second

// healthCommand checks a node, for scripts and container probes.
type healthCommand struct {
	Live   bool   `help:"Check only whether the process answers (/healthz), not whether it is ready (/readyz)."`
	Config string `help:"Configuration file of the node, for the address of its management listener. [GAVEL_CONFIG]" placeholder:"FILE"`
	URL    string `arg:"" optional:"" help:"Base URL or HOST:PORT of the node; default: the management listener of the configuration."`
}

// Run prints the answer. A status other than 200 is an error.
func (c *healthCommand) Run(p *process) error {
	base, client := strings.TrimRight(c.URL, "/"), http.DefaultClient
	if base == "" {
		flags := map[string]string{}
		if c.Config != "" {
			flags["config"] = c.Config
		}
		l, err := config.Load(config.Input{Defaults: config.Default(), Environ: p.environ, Flags: flags})
		if err != nil {
			return usageError{err}
		}
		base, client = l.LocalManageURL(l.ManageListen), ownNode
	}
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	path := "/readyz"
	if c.Live {
		path = "/healthz"
	}
	return p.ask(client, base+path)
}

// ownNode asks the node of this machine, whose certificate names its public host and not localhost. The request carries
// no key, so there is nothing that a wrong server could learn from it.
var ownNode = &http.Client{Transport: &http.Transport{
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // See above.
}}

func (p *process) ask(client *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return usageError{fmt.Errorf("gavel: %w", err)}
	}
	answer, err := client.Do(request)
	if err != nil {
		return errors.New("the node does not answer: " + err.Error())
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 4<<10)) // BOUND: a status is shorter.
	if err != nil {
		return fmt.Errorf("the answer is incomplete: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s: %s", url, answer.Status, strings.TrimSpace(string(body)))
	}
	fmt.Fprintf(p.out, "%s\n", strings.TrimSpace(string(body)))
	return nil
}
