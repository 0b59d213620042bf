package main_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
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

// killsBetweenChecks is how many kills follow one another before notices and entries are compared: a comparison takes as long as
// several kills.
const killsBetweenChecks = 50

// TestKilledWhileChangesAreAnswered kills a node with SIGKILL while four clients rename campaigns. Every name that a campaign has had
// is in one notice and in one entry of the audit log, with the status of success, and no other name is in either. GAVEL_STOPS=200
// sets the number of kills.
func TestKilledWhileChangesAreAnswered(t *testing.T) {
	kills := 3
	if text := os.Getenv("GAVEL_STOPS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	} else if testing.Short() {
		t.Skip("starts a process several times")
	}
	x := newRenaming(t)
	for kill := range kills {
		x.killDuring(kill)
		if kill%killsBetweenChecks == killsBetweenChecks-1 {
			x.check()
		}
	}
	x.check()
	t.Logf("%d kills, %d changes, %d of them without an answer, %d requests without a change", kills, len(x.names), x.unanswered, len(x.undone))
}

// renaming is a node whose campaigns are renamed while it is killed.
type renaming struct {
	*cluster
	receiver   *noticeReceiver
	paths      [4]string       // One campaign for each client.
	names      map[string]bool // The names that campaigns have had.
	undone     []string        // The names of requests without an answer that no campaign has had.
	unanswered int             // How many of names were in requests without an answer.
}

func newRenaming(t *testing.T) *renaming {
	x := &renaming{
		cluster: &cluster{T: t, client: &http.Client{Timeout: time.Minute}}, receiver: newNoticeReceiver(t), names: map[string]bool{},
	}
	const groups = 2 // The meta group and two groups of campaigns.
	x.nodes = []*nodetest.Node{nodetest.Start(t, nodetest.Options{ReadyTimeout: waitMax, Args: []string{
		"--webhooks-development", "--ratelimit-management", "0", "--ratelimit-catalog", "0", "--disk-reserve", "1MiB",
		"--groups", strconv.Itoa(groups),
	}})}
	x.eventually("the newest feature level", func() bool { return strings.Count(x.nodes[0].LogTail(), "feature_level_raised") > groups })
	x.market(0)
	for i := range x.paths {
		made := x.manage(0, 201, "POST", "/campaign-service/campaigns?vendor_id=v1",
			`{"name":"First","campaignType":"manual","bids":[{"target":{"type":"product","id":"p1"},"amount":50}]}`)
		x.paths[i] = "/campaign-service/campaigns/" + made.body["campaignId"].(string)
	}
	x.manage(0, 201, "POST", "/webhooks/webhooks", `{"url":"`+x.receiver.URL+`","channel":"campaign:update"}`)
	return x
}

// killDuring kills the node after a random number of answers to renamings, and starts it again. What got no answer was done or not.
func (x *renaming) killDuring(kill int) {
	x.Helper()
	const fewest, spread = 4, 40 // Answers before the kill. BOUND: few, because each of them is checked.
	var sent [len(x.paths)][]string
	var all sync.WaitGroup
	answers := make(chan struct{})
	for i := range x.paths {
		all.Go(func() { sent[i] = x.renameUntilKilled(x.paths[i], fmt.Sprintf("k%d-c%d-", kill, i), answers) })
	}
	go func() {
		all.Wait()
		close(answers)
	}()
	for range fewest + rand.IntN(spread) {
		<-answers
	}
	killed := make(chan error)
	go func() {
		time.Sleep(time.Duration(rand.IntN(5_000)) * time.Microsecond) // The moment within a commit.
		killed <- x.nodes[0].Kill()
	}()
	for range answers { // The clients go on until they get no answer.
	}
	if err := <-killed; err != nil {
		x.Fatal(err)
	}
	x.restart(0)
	for i, list := range sent {
		last := list[len(list)-1]
		for _, name := range list[:len(list)-1] {
			x.names[name] = true
		}
		if x.manage(0, 200, "GET", x.paths[i], "").body["name"] == last {
			x.names[last] = true
			x.unanswered++
		} else {
			x.undone = append(x.undone, last)
		}
	}
}

// check waits for the notices of all names and compares notices and entries with the names. Two more renamings show that no notice is
// still to come: a round sends what was due before it, so that the first attempt at everything older is over when the notice of the
// second one arrives, which was not due when that of the first one was sent.
func (x *renaming) check() {
	x.Helper()
	for range 2 {
		name := fmt.Sprint("marker-", len(x.names))
		x.manage(0, 200, "PATCH", x.paths[0], `{"name":"`+name+`"}`, "X-Request-Id", name)
		x.names[name] = true
		x.eventually("the notice of "+name, func() bool { return x.receiver.count(name) > 0 })
	}
	x.eventually("all notices", func() bool { return x.receiver.names() >= len(x.names) })
	entries := x.renamings()
	for name := range x.names {
		if x.receiver.count(name) != 1 || entries[name] != 1 {
			x.Errorf("%s: %d notices and %d entries in the audit log, want one of each", name, x.receiver.count(name), entries[name])
		}
	}
	for _, name := range x.undone {
		if x.receiver.count(name) != 0 || entries[name] != 0 {
			x.Errorf("%s: %d notices and %d entries in the audit log, and no campaign has had the name", name, x.receiver.count(name), entries[name])
		}
	}
	if x.receiver.names() != len(x.names) || len(entries) != len(x.names) {
		x.Errorf("notices about %d names and entries about %d, want %d", x.receiver.names(), len(entries), len(x.names))
	}
}

// renameUntilKilled renames a campaign until a request gets no answer, and returns the names that it sent.
func (x *renaming) renameUntilKilled(path, prefix string, answers chan<- struct{}) (sent []string) {
	n := x.nodes[0]
	for i := 0; ; i++ {
		name := fmt.Sprint(prefix, i)
		sent = append(sent, name)
		s, err := x.send("PATCH", n.ManageURL+"/public/v1"+path, n.Keys.ManagementKey, `{"name":"`+name+`"}`, "X-Request-Id", name)
		if err != nil {
			return sent
		}
		if s.status != http.StatusOK {
			x.Errorf("%s: %d %v", name, s.status, s.body)
			return sent
		}
		answers <- struct{}{}
	}
}

// renamings counts the entries of the audit log by their request id.
func (c *cluster) renamings() map[string]int {
	c.Helper()
	count := map[string]int{}
	for next := ""; ; {
		page := c.manage(0, 200, "GET", "/audit-service/entries?operation=patchCampaign"+next, "").body
		for _, entry := range page["entries"].([]any) {
			e := entry.(map[string]any)
			id, _ := e["requestId"].(string)
			count[id]++
			if e["status"] != 200.0 {
				c.Errorf("%s has an entry with the status %v", id, e["status"])
			}
		}
		if page["hasMore"] != true {
			return count
		}
		next = "&next_page=" + page["nextPage"].(string)
	}
}
