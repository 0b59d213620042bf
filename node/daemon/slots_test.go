package daemon

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A request that holds one of two connections leaves the other one to other marketplaces: the same key gets 503 meanwhile, and
// the metric counts that. Both listeners write requests to the log when that is switched on.
func TestSlotsAndAccessLogOfANode(t *testing.T) {
	cfg := testConfig(t.TempDir(), 1)
	cfg.Management.ConnectionsMax, cfg.Ratelimit.Management, cfg.Log.Level, cfg.Log.Access = 2, 0, "info", 1
	log := &output{}
	r := run(t, cfg, Options{Log: log})
	campaigns := r.manage + "/public/v1/campaign-service/campaigns"

	held := holdRequest(t, campaigns, r.keys.Management)
	deadline := time.Now().Add(time.Minute)
	for n := 1; ; n++ {
		status, answer := r.call(http.MethodGet, campaigns, r.keys.Management, "")
		if status == http.StatusServiceUnavailable && strings.Contains(answer["message"].(string), "requests under way") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("while the only other request waits: %d %v", status, answer)
		}
		if n%20 == 0 { // It came while a request of the start was not over, and was refused itself, which is answered after its body.
			held.giveUp()
			held = holdRequest(t, campaigns, r.keys.Management)
		}
		time.Sleep(10 * time.Millisecond)
	}
	held.giveUp()
	for status := 0; status != http.StatusOK; time.Sleep(10 * time.Millisecond) {
		if status, _ = r.call(http.MethodGet, campaigns, r.keys.Management, ""); time.Now().After(deadline) {
			t.Fatalf("after it ended: %d", status)
		}
	}

	resp, err := http.Get(r.manage + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := io.ReadAll(resp.Body)
	if closing := resp.Body.Close(); err != nil || closing != nil {
		t.Fatal(err, closing)
	}
	if !strings.Contains(string(metrics), "\ngavel_management_refused_total ") || strings.Contains(string(metrics), "\ngavel_management_refused_total 0\n") {
		t.Error("the metrics do not count the refusal")
	}

	r.must(http.StatusUnauthorized, http.MethodPost, r.auction+"/v2/auctions", "nobody", "{}")
	r.stop() // A request is written after its answer.
	for _, want := range []string{`"operation":"listCampaigns","status":503`, `"operation":"auctions","status":401`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %s", want)
		}
	}
}

// heldRequest is a request whose body never comes.
type heldRequest struct {
	sender *io.PipeWriter
	done   chan struct{} // Closed when the request has ended.
}

func holdRequest(t *testing.T, url, key string) heldRequest {
	t.Helper()
	body, sender := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = 100
	req.Header.Set("Authorization", "Bearer "+key)
	h := heldRequest{sender, make(chan struct{})}
	go func() {
		defer close(h.done)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close() // Refused; the caller sees that it ended.
		}
	}()
	return h
}

// giveUp ends the request as a client does that goes away.
func (h heldRequest) giveUp() {
	_ = h.sender.CloseWithError(io.ErrUnexpectedEOF)
	<-h.done
}
