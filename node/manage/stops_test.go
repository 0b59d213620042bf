package manage_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gavel-ads/gavel/node/manage"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

type replicated = store.Groups

// stoppingGroups is the state as a node sees it that is killed right before its first command is committed, or right after one of
// its commands was: the command is applied, and whoever proposed it never goes on.
type stoppingGroups struct {
	replicated
	left    atomic.Int64    // Commands until the kill; 0: it happens before the first.
	stopped chan struct{}   // Gets a value at a kill.
	over    <-chan struct{} // Closed at the end of the test, so that no goroutine outlives it.
}

func (s *stoppingGroups) ProposeAt(ctx context.Context, g ids.Group, cmd []byte) ([]byte, uint64, error) {
	select {
	case <-s.over:
		return nil, 0, store.ErrUnavailable
	default:
	}
	left := s.left.Add(-1)
	if left == -1 {
		return s.stop()
	}
	raw, index, err := s.replicated.ProposeAt(ctx, g, cmd)
	if left == 0 {
		return s.stop()
	}
	return raw, index, err
}

func (s *stoppingGroups) stop() ([]byte, uint64, error) {
	s.stopped <- struct{}{}
	<-s.over
	return nil, 0, store.ErrUnavailable
}

// stopping is a node that is killed in the middle of requests, beside one that is not.
type stopping struct {
	*notified
	groups *stoppingGroups
	node   *manage.Server
}

func newStopping(t *testing.T, level command.Level) *stopping {
	t.Helper()
	n := newNotified(t, level)
	n.Store.Limits.Keys = 1_000 // One for every creation.
	over := make(chan struct{})
	s := &stopping{notified: n, groups: &stoppingGroups{replicated: n.Store.Groups, stopped: make(chan struct{}), over: over}}
	s.node = n.NodeOn(t, s.groups)
	t.Cleanup(func() { close(over) })
	return s
}

// send sends a request to the node, which is killed after that many commands, or before the first. It returns nil when the request
// got no answer.
func (s *stopping) send(after int, method, path, body, idempotency, id string) *httptest.ResponseRecorder {
	s.Helper()
	s.groups.left.Store(int64(after))
	answered := make(chan *httptest.ResponseRecorder, 1)
	go func() { answered <- s.sendTo(s.node, method, path, body, idempotency, id) }()
	select {
	case rec := <-answered:
		return rec
	case <-s.groups.stopped:
		return nil
	}
}

func (s *stopping) sendTo(node http.Handler, method, path, body, idempotency, id string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/public/v1"+strings.TrimPrefix(path, "/public/v1"), strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+s.Keys["management"])
	r.Header.Set("X-Request-Id", id)
	if method == http.MethodPost {
		r.Header.Set("Idempotency-Key", idempotency)
	}
	rec := httptest.NewRecorder()
	node.ServeHTTP(rec, r)
	return rec
}

// change is one request of the test.
type change struct {
	method, path, body string
	made               func() bool   // Whether the state shows the change.
	channel            string        // Empty when nobody is notified.
	about              func() string // What only the notice of this change contains.
}

// bid finds a bid of a campaign by its amount.
func (s *stopping) bid(campaign string, amount int) (id string, found bool) {
	s.Helper()
	c, err := ids.Parse(campaign)
	if err != nil {
		s.Fatal(err)
	}
	bids, _, err := s.Store.Tenant(managetest.Main).Bids(s.Context(), c, 0, 10_000)
	for i := range bids {
		if int(bids[i].Amount) == amount*10_000 { // Minor units of EUR in micros.
			return bids[i].ID.String(), true
		}
	}
	if err != nil {
		s.Fatal(err)
	}
	return "", false
}

// campaigns lists the campaigns with a name.
func (s *stopping) campaigns(name string) (all []store.CampaignState) {
	s.Helper()
	list, _, err := s.Store.Tenant(managetest.Main).Campaigns(s.Context(), store.CampaignFilter{Limit: 10_000})
	if err != nil {
		s.Fatal(err)
	}
	for i := range list {
		if list[i].Name == name {
			all = append(all, list[i])
		}
	}
	return all
}

// keyNames counts the API keys with a name.
func (s *stopping) keyNames(name string) (n int) {
	s.Helper()
	all, err := s.Store.Tenant(managetest.Main).Keys(s.Context())
	for i := range all {
		if all[i].Name == name {
			n++
		}
	}
	if err != nil {
		s.Fatal(err)
	}
	return n
}

const newCampaignBody = `{"name":%q,"campaignType":"manual","bids":[{"target":{"type":"product","id":"p"},"amount":1}]}`

// next is the n-th request. base is a campaign that stays.
func (s *stopping) next(n int, base string) change {
	s.Helper()
	name, amount := fmt.Sprint("n", n), 100+n
	path := "/campaign-service/campaigns/" + base
	newBid := fmt.Sprintf(`{"bids":[{"target":{"type":"product","id":"p"},"amount":%d}]}`, amount)
	text := func(text string) func() string { return func() string { return text } }
	addBid := func() string {
		s.do(http.MethodPost, path+"/bids", newBid)
		id, _ := s.bid(base, amount)
		return id
	}
	switch n % 7 {
	case 0:
		made := func() bool { return len(s.campaigns(name)) == 1 }
		about := text(fmt.Sprintf(`"name":%q`, name))
		return change{http.MethodPost, "/campaign-service/campaigns?vendor_id=v", fmt.Sprintf(newCampaignBody, name), made, "campaign:create", about}
	case 1:
		made := func() bool { return len(s.campaigns(name)) == 1 }
		return change{http.MethodPatch, path, fmt.Sprintf(`{"name":%q}`, name), made, "campaign:update", text(fmt.Sprintf(`"name":%q`, name))}
	case 2:
		made := func() bool { _, found := s.bid(base, amount); return found }
		about := func() string { id, _ := s.bid(base, amount); return id }
		return change{http.MethodPost, path + "/bids", newBid, made, "bid:create", about}
	case 3:
		id := addBid()
		made := func() bool { now, found := s.bid(base, amount+100_000); return found && now == id }
		return change{http.MethodPatch, path + "/bids/" + id, fmt.Sprintf(`{"amount":%d}`, amount+100_000), made, "bid:update", text(id)}
	case 4:
		id := addBid()
		made := func() bool { _, found := s.bid(base, amount); return !found }
		return change{http.MethodDelete, path + "/bids/" + id, "", made, "bid:delete", text(id)}
	case 5:
		made := func() bool { return s.keyNames(name) == 1 }
		return change{http.MethodPost, keys, fmt.Sprintf(`{"kind":"auction","name":%q}`, name), made, "", nil}
	default:
		id := s.create(name)
		made := func() bool { return len(s.campaigns(name)) == 0 } // Without deleted ones.
		return change{http.MethodDelete, "/campaign-service/campaigns/" + id, "", made, "campaign:delete", text(id)}
	}
}

// TestStopsBetweenCommitAndAnswer kills a node 200 times in the middle of a change: before its first command is committed and after
// each of its commands, so between the change and its answer, and between the answer and its storing. The other node then repeats
// what has an Idempotency-Key. Every change has one notice, and together with its repeat one audit entry; nothing else has either.
func TestStopsBetweenCommitAndAnswer(t *testing.T) {
	testStops(t, command.LevelNewest, true, 1)
}

// TestStopsBelowTheLevelOfEntries does the same while a node of an older version is in the cluster. Then the entry of a change is
// committed before it: a change still has its entry, but a request that was stopped before its change may have one, too.
func TestStopsBelowTheLevelOfEntries(t *testing.T) {
	testStops(t, command.LevelAuditEntries-1, false, 2)
}

// testStops kills a node 200 times. Every change must have an entry, and at most that many of its request and the repeat together;
// exact says that a request without a change must have none.
func testStops(t *testing.T, level command.Level, exact bool, most int) {
	const stops, positions = 200, 4 // Before the first command, and after the first, second and third one.
	s := newStopping(t, level)
	base := s.create("base")
	notices := map[string]map[string]int{} // By channel and what the notice is about.
	made := map[string]bool{}              // By request id: whether the change was made in the end.
	stopped := map[bool]int{}
	for n := 0; stopped[true]+stopped[false] < stops; n++ {
		c := s.next(n, base)
		id := fmt.Sprint("request-", n)
		rec := s.send(n/7%positions, c.method, c.path, c.body, id, id)
		made[id] = c.made()
		if rec == nil {
			stopped[made[id]]++
		} else if rec.Code >= http.StatusBadRequest || !made[id] {
			t.Fatalf("%s %s: %d %s", c.method, c.path, rec.Code, rec.Body)
		}
		if c.method == http.MethodPost {
			again := s.sendTo(s.Server, c.method, c.path, c.body, id, id+"-again")
			if made[id] = c.made(); again.Code >= http.StatusBadRequest || !made[id] {
				t.Fatalf("the repeat of %s %s: %d %s", c.method, c.path, again.Code, again.Body)
			}
		}
		if made[id] && c.channel != "" {
			if notices[c.channel] == nil {
				notices[c.channel] = map[string]int{}
			}
			notices[c.channel][c.about()]++
		}
		if n%5 == 0 {
			s.moveAndStop()
		}
	}
	if stopped[true] < stops/3 || stopped[false] < stops/20 {
		t.Errorf("%d stops after a change and %d before it: the test says little", stopped[true], stopped[false])
	}
	s.Notices().Round(t.Context())
	for channel, want := range notices {
		s.checkNotices(channel, want)
	}
	s.checkEntries(made, exact, most)
}

// moveAndStop moves notices, and stops between storing the deliveries and removing the notices.
func (s *stopping) moveAndStop() {
	s.FailWritesAfter(1)
	s.Notices().Round(s.Context())
	s.FailWrites(false)
}

// checkNotices compares the log of a channel's webhook with the changes that were made.
func (s *stopping) checkNotices(channel string, want map[string]int) {
	s.Helper()
	hook, err := ids.Parse(s.hooks[channel])
	if err != nil {
		s.Fatal(err)
	}
	all, err := s.Store.Tenant(managetest.Main).Deliveries(s.Context(), hook, 10_000)
	if err != nil {
		s.Fatal(err)
	}
	for about, times := range want {
		got := 0
		for i := range all {
			if strings.Contains(string(all[i].Body), about) {
				got++
			}
		}
		if got != times {
			s.Errorf("%s: %d notices about %q, want %d", channel, got, about, times)
		}
	}
}

// checkEntries compares the audit log with the changes: each has at least one entry and at most that many of its request and the
// repeat of it. exact says that a request without a change has none, and that an entry has the status of success from the first.
func (s *stopping) checkEntries(made map[string]bool, exact bool, most int) {
	s.Helper()
	got := map[string]int{}
	for _, e := range auditLog(s.T, s.Environment) {
		got[strings.TrimSuffix(e.RequestID, "-again")]++
		if exact && (e.Status < 200 || e.Status > 299) {
			s.Errorf("%s has an entry with the status %d", e.RequestID, e.Status)
		}
	}
	for id, was := range made {
		if n := got[id]; was && (n < 1 || n > most) || !was && exact && n != 0 {
			s.Errorf("%s (made: %t) has %d entries in the audit log, want at most %d", id, was, n, most)
		}
	}
}
