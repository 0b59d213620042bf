package main_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/nodetest"
)

// noticeReceiver is the server of a webhook. It collects the ids of the notices about each name of a campaign.
type noticeReceiver struct {
	*httptest.Server
	mu  sync.Mutex
	ids map[string]map[string]bool
}

func newNoticeReceiver(t *testing.T) *noticeReceiver {
	r := &noticeReceiver{ids: map[string]map[string]bool{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		var notice struct {
			ID      string
			Payload struct{ Name string }
		}
		if err := json.NewDecoder(req.Body).Decode(&notice); err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.ids[notice.Payload.Name] == nil {
			r.ids[notice.Payload.Name] = map[string]bool{}
		}
		r.ids[notice.Payload.Name][notice.ID] = true
	}))
	t.Cleanup(r.Close)
	return r
}

// count returns how many notices about a name have different ids: a repeated delivery has the id of the first.
func (r *noticeReceiver) count(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ids[name])
}

func (r *noticeReceiver) names() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ids)
}

// TestKilledWhileChangesAreAnswered kills a node with SIGKILL while four clients rename campaigns. Every name that a campaign has had
// is in one notice and in one entry of the audit log, and no other name is in a notice. GAVEL_STOPS=200 sets the number of kills.
func TestKilledWhileChangesAreAnswered(t *testing.T) {
	const clients = 4
	kills := 3
	if text := os.Getenv("GAVEL_STOPS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	} else if testing.Short() {
		t.Skip("starts a process several times")
	}
	receiver := newNoticeReceiver(t)
	c := &cluster{T: t, client: &http.Client{Timeout: time.Minute}}
	c.nodes = []*nodetest.Node{nodetest.Start(t, nodetest.Options{Args: []string{
		"--webhooks-development", "--ratelimit-management", "0", "--ratelimit-catalog", "0", "--disk-reserve", "1MiB",
	}})}
	c.market(0)
	var paths [clients]string
	for i := range paths {
		made := c.manage(0, 201, "POST", "/campaign-service/campaigns?vendor_id=v1",
			`{"name":"First","campaignType":"manual","bids":[{"target":{"type":"product","id":"p1"},"amount":50}]}`)
		paths[i] = "/campaign-service/campaigns/" + made.body["campaignId"].(string)
	}
	c.manage(0, 201, "POST", "/webhooks/webhooks", `{"url":"`+receiver.URL+`","channel":"campaign:update"}`)

	names, unanswered := map[string]bool{}, 0 // The names that campaigns have had.
	for kill := range kills {
		var sent [clients][]string // The last of each client got no answer.
		var all sync.WaitGroup
		for i := range clients {
			all.Go(func() { sent[i] = c.renameUntilKilled(paths[i], fmt.Sprintf("k%d-c%d-", kill, i)) })
		}
		time.Sleep(time.Duration(100+rand.IntN(200)) * time.Millisecond)
		if err := c.nodes[0].Kill(); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		c.restart(0)
		for i, list := range sent {
			last := list[len(list)-1]
			for _, name := range list[:len(list)-1] {
				names[name] = true
			}
			if c.manage(0, 200, "GET", paths[i], "").body["name"] == last {
				names[last] = true
				unanswered++
			}
		}
	}
	t.Logf("%d kills, %d changes, %d of them without an answer", kills, len(names), unanswered)
	c.eventually("all notices", func() bool { return receiver.names() >= len(names) })
	time.Sleep(3 * time.Second) // Notices that are too many come as well.
	entries := c.renamings()
	for name := range names {
		if receiver.count(name) != 1 || entries[name] != 1 {
			t.Errorf("%s: %d notices and %d entries in the audit log, want one of each", name, receiver.count(name), entries[name])
		}
	}
	if receiver.names() != len(names) {
		t.Errorf("notices about %d names, want %d", receiver.names(), len(names))
	}
}

// renameUntilKilled renames a campaign until a request gets no answer, and returns the names that it sent.
func (c *cluster) renameUntilKilled(path, prefix string) (sent []string) {
	n := c.nodes[0]
	for i := 0; ; i++ {
		name := fmt.Sprint(prefix, i)
		sent = append(sent, name)
		s, err := c.send("PATCH", n.ManageURL+"/public/v1"+path, n.Keys.ManagementKey, `{"name":"`+name+`"}`, "X-Request-Id", name)
		if err != nil {
			return sent
		}
		if s.status != http.StatusOK {
			c.Errorf("%s: %d %v", name, s.status, s.body)
			return sent
		}
	}
}

// renamings counts the entries of the audit log by their request id.
func (c *cluster) renamings() map[string]int {
	c.Helper()
	count := map[string]int{}
	for next := ""; ; {
		page := c.manage(0, 200, "GET", "/audit-service/entries?operation=patchCampaign"+next, "").body
		for _, e := range page["entries"].([]any) {
			id, _ := e.(map[string]any)["requestId"].(string)
			count[id]++
		}
		if page["hasMore"] != true {
			return count
		}
		next = "&next_page=" + page["nextPage"].(string)
	}
}
