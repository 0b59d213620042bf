package daemon

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// answered is an answer during a drain.
type answered struct {
	status int
	closes bool
}

func (r *runningNode) ask(method, url, body string) (answered, error) {
	req, err := http.NewRequestWithContext(r.Context(), method, url, strings.NewReader(body))
	if err != nil {
		return answered{}, err
	}
	req.Header.Set("Authorization", "Bearer "+r.keys.Auction)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return answered{}, err
	}
	return answered{answer.StatusCode, answer.Close}, answer.Body.Close()
}

const anAuction = `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["p1"]}}]}`

// A node behind a load balancer, which asks /readyz, says first that it is not ready, and serves auctions on both
// listeners meanwhile, with answers that end their connections.
func TestADrainingNodeServesUntilLoadBalancersKnow(t *testing.T) {
	cfg := testConfig(t.TempDir(), 1)
	cfg.Drain.Delay = "1500ms"
	r := run(t, cfg, Options{})
	if got, err := r.ask("POST", r.auction+"/v2/auctions", anAuction); err != nil || got != (answered{201, false}) {
		t.Fatalf("before: %+v, %v", got, err)
	}
	began := time.Now()
	go r.stop()
	for {
		if got, err := r.ask("GET", r.manage+"/readyz", ""); err != nil || got.status == 503 {
			if err != nil || time.Since(began) > time.Second {
				t.Fatalf("after %s: %+v, %v", time.Since(began), got, err)
			}
			break
		}
	}
	served := 0
	for time.Since(began) < time.Second {
		for _, listener := range []string{r.auction, r.manage} {
			if got, err := r.ask("POST", listener+"/v2/auctions", anAuction); err != nil || got != (answered{201, true}) {
				t.Fatalf("after %s: %+v, %v", time.Since(began), got, err)
			}
			served++
		}
	}
	r.stop()
	if took := time.Since(began); took < 1500*time.Millisecond || served < 10 {
		t.Errorf("stopped after %s with %d auctions", took, served)
	}
}

// Without a load balancer a node stops at once; with one it takes two seconds.
func TestTheDelayOfADrain(t *testing.T) {
	for _, asked := range []bool{false, true} {
		r := run(t, testConfig(t.TempDir(), 1), Options{})
		if asked {
			r.must(200, "GET", r.manage+"/readyz", "", "")
		}
		began := time.Now()
		r.stop()
		if took := time.Since(began); (took >= 2*time.Second) != asked {
			t.Errorf("asked %t: stopped after %s", asked, took)
		}
	}
}

// A load balancer that has not asked for a minute is none any more.
func TestTheDelayOfADrainEndsWithTheQuestions(t *testing.T) {
	n := &node{cfg: testConfig(t.TempDir(), 1)}
	asked := time.UnixMilli(1_000_000)
	n.readyzAsked.Store(asked.UnixMilli())
	for after, want := range map[time.Duration]time.Duration{0: 2 * time.Second, readyzRecent - 1: 2 * time.Second, readyzRecent: 0, time.Hour: 0} {
		if got := n.drainDelay(asked.Add(after)); got != want {
			t.Errorf("%s after /readyz was asked, the node serves for %s, want %s", after, got, want)
		}
	}
}
