package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
)

const (
	refusedGoal = time.Second          // The promise: every node refuses a revoked key and an ended session within this time.
	askEvery    = 5 * time.Millisecond // The time between two requests of a probe, which is how exact a figure is.
)

// probe is a request that a credential opens at one listener of one node.
type probe struct {
	name string // The node and its listener.
	ask  func(ctx context.Context) (status int, err error)
}

// ending is a way in which a credential ends. prepare makes a credential through one node, and returns what it opens and the request that
// ends it.
type ending struct {
	name    string
	prepare func(ctx context.Context, node int) (probes []probe, end func(context.Context) error, err error)
}

// refusals measures how long every listener of every node accepts a credential that has ended, from the sending of the request that ends
// it. Each ending is sent through the nodes in turn.
func refusals(ctx context.Context, c *config, f *driver.Fleet, out io.Writer) error {
	endings, err := endingsOf(ctx, f)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "until a listener refuses, from the sending of what ends the credential; goal: %v at most, in every sample\n", refusedGoal)
	for _, e := range endings {
		var names []string
		taken := map[string]*driver.Histogram{}
		for i := range c.revocations {
			probes, end, err := e.prepare(ctx, i%len(f.Nodes))
			if err != nil {
				return fmt.Errorf("%s: %w", e.name, err)
			}
			took, err := measureRefusals(ctx, probes, end)
			if err != nil {
				return fmt.Errorf("%s: %w", e.name, err)
			}
			for k, p := range probes {
				if i == 0 {
					names = append(names, p.name)
				}
				record(taken, p.name, took[k])
			}
			time.Sleep(time.Duration(i%25) * time.Millisecond) // Irregular, so that they do not coincide with a period of the node.
		}
		for _, name := range names {
			if err := printRefusals(out, e.name, name, taken[name]); err != nil {
				return err
			}
		}
	}
	_, err = fmt.Fprintf(out, "load average %s after\n", load())
	return err
}

func printRefusals(out io.Writer, ending, name string, h *driver.Histogram) error {
	result := "holds"
	if h.Max() > refusedGoal {
		result = "missed"
	}
	_, err := fmt.Fprintf(out, "%-22s %-24s %4d samples  p50 %-8v p99 %-8v max %-8v %s\n", ending, name, h.Count(),
		h.Quantile(0.5).Round(100*time.Microsecond), h.Quantile(0.99).Round(100*time.Microsecond), h.Max().Round(100*time.Microsecond), result)
	return err
}

// measureRefusals waits until every probe is accepted, ends the credential, and returns how long after the sending of that each probe was
// refused. None may be accepted again.
func measureRefusals(ctx context.Context, probes []probe, end func(context.Context) error) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, visibleMax, fmt.Errorf("a probe was not answered as expected within %v", visibleMax))
	defer cancel()
	for _, p := range probes {
		if _, err := p.until(ctx, accepted); err != nil {
			return nil, err
		}
	}
	refusedAt, faults := make([]time.Time, len(probes)), make([]error, len(probes))
	var asking sync.WaitGroup
	for i, p := range probes {
		asking.Go(func() { refusedAt[i], faults[i] = p.until(ctx, refused) })
	}
	sent := time.Now()
	fault := end(ctx)
	if fault != nil {
		cancel()
	}
	asking.Wait()
	if err := errors.Join(append(faults, fault)...); err != nil {
		return nil, err
	}
	took := make([]time.Duration, len(probes))
	for i, p := range probes {
		took[i] = refusedAt[i].Sub(sent)
		status, err := p.ask(ctx)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", p.name, err)
		case !refused(status):
			return nil, fmt.Errorf("%s was refused and is answered %d", p.name, status)
		}
	}
	return took, nil
}

func accepted(status int) bool { return status/100 == 2 }
func refused(status int) bool  { return status == http.StatusUnauthorized }

// until asks until the status is a wanted one, and returns when that answer came. A node that cannot know what has ended answers 503, which
// is neither accepted nor refused.
func (p probe) until(ctx context.Context, wanted func(status int) bool) (time.Time, error) {
	for {
		status, err := p.ask(ctx)
		switch {
		case ctx.Err() != nil:
			return time.Time{}, fmt.Errorf("%s: %w", p.name, context.Cause(ctx))
		case err != nil:
			return time.Time{}, fmt.Errorf("%s: %w", p.name, err)
		case wanted(status):
			return time.Now(), nil
		case !accepted(status) && !refused(status) && status != http.StatusServiceUnavailable:
			return time.Time{}, fmt.Errorf("%s is answered %d", p.name, status)
		}
		time.Sleep(askEvery)
	}
}

// endingsOf returns all endings: of keys by a revocation, of sessions by a change of the password, of the role, and by a removal.
func endingsOf(ctx context.Context, f *driver.Fleet) ([]ending, error) {
	admin, err := signIn(ctx, f.Nodes[0].Manage, adminEmail, adminPassword)
	if err != nil {
		return nil, err
	}
	p := &people{nodes: f.Nodes, admin: admin, roles: alternating{"analyst", "operator"}, passwords: alternating{adminPassword, "another good password"}}
	if _, p.bob, err = admin.invite(ctx, f.Nodes[0].Manage, bobEmail, p.roles.now(), p.passwords.now()); err != nil {
		return nil, err
	}
	k := keys{nodes: f.Nodes, management: f.ManagementKey}
	return []ending{
		{"auction key revoked", k.ofKind("auction", auctionProbes)},
		{"management key revoked", k.ofKind("management", managementProbes)},
		{"password changed", p.passwordChange},
		{"role changed", p.roleChange},
		{"user removed", p.removal},
	}, nil
}

// keys makes and revokes API keys.
type keys struct {
	nodes      []*driver.Node
	management string
}

func (k keys) ofKind(kind string, probes func([]*driver.Node, string) []probe) func(context.Context, int) ([]probe, func(context.Context) error, error) {
	const path = "/public/v1/key-service/keys"
	return func(ctx context.Context, node int) ([]probe, func(context.Context) error, error) {
		a := newAPI(k.nodes[node].Manage, k.management, 1)
		var made struct{ Key, KeyID string }
		if err := a.call(ctx, "POST", path, fmt.Appendf(nil, `{"kind":%q,"name":"measured"}`, kind), &made); err != nil {
			return nil, nil, err
		}
		end := func(ctx context.Context) error { return a.call(ctx, "DELETE", path+"/"+made.KeyID, nil, nil) }
		return probes(k.nodes, made.Key), end, nil
	}
}

// auctionProbes are auctions at both listeners of every node.
func auctionProbes(nodes []*driver.Node, key string) (all []probe) {
	const path, body = "/v2/auctions", `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["mine"]}}]}`
	for i, n := range nodes {
		all = append(all,
			probe{fmt.Sprintf("n%d, auction listener", i+1), keyed(key, "POST", n.Auction+path, body)},
			probe{fmt.Sprintf("n%d, management listener", i+1), keyed(key, "POST", n.Manage+path, body)})
	}
	return all
}

// managementProbes read the keys at every node.
func managementProbes(nodes []*driver.Node, key string) (all []probe) {
	for i, n := range nodes {
		all = append(all, probe{fmt.Sprintf("n%d, management listener", i+1), keyed(key, "GET", n.Manage+"/public/v1/key-service/keys", "")})
	}
	return all
}

// probing is the client of all probes with a key. Its connections stay open, as those of a storefront do.
var probing = &http.Client{Timeout: visibleMax, Transport: &http.Transport{MaxIdleConnsPerHost: 4}}

// keyed returns how a request with a key is sent.
func keyed(key, method, url, body string) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
		if err != nil {
			return 0, err
		}
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		resp, err := probing.Do(r)
		if err != nil {
			return 0, err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close() // It was read to its end, or the error says why not.
		return resp.StatusCode, err
	}
}
