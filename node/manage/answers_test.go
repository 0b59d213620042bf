package manage_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
)

// storedAnswers lists what the marketplace stores of answers.
func storedAnswers(t *testing.T, w *managetest.Environment) (all []shard.StoredRecord) {
	t.Helper()
	err := w.Store.Groups.Read(w.Store.Groups.Meta(), func(r shard.Reader) error {
		all, _ = shard.Queries{R: r}.Records(command.RecordAnswer, managetest.Main, "", 100_000)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRepeatsOnAnotherNode: a repeat on another node gets the first answer, byte for byte, whatever has changed since, and
// changes nothing. Another request with the same Idempotency-Key is refused there. No secret is stored readably.
func TestRepeatsOnAnotherNode(t *testing.T) {
	s := newStopping(t, command.LevelNewest)
	other := s.Node(t)
	base := "/campaign-service/campaigns/" + s.create("base")
	bids := base + "/bids"
	for i, x := range []struct {
		path, body string
		status     int
		since      func() // What happens between the request and its repeat.
	}{
		{keys, `{"kind":"management","name":"twice"}`, 201, nil},
		{"/campaign-service/campaigns?vendor_id=v", fmt.Sprintf(newCampaignBody, "first"), 201, func() {
			s.do(http.MethodPatch, "/campaign-service/campaigns/"+s.campaigns("first")[0].ID.String(), `{"name":"renamed"}`)
		}},
		{bids, `{"bids":[{"target":{"type":"product","id":"p"},"amount":77}]}`, 201, func() {
			id, _ := s.bid(base[strings.LastIndex(base, "/")+1:], 77)
			s.do(http.MethodPatch, bids+"/"+id, `{"amount":78}`)
		}},
		{"/billing-service/vendors/v/balance/burn", `{"balance":5}`, 400, func() {
			s.do(http.MethodPost, "/billing-service/vendors/v/balance", `{"balance":50}`)
		}},
		{"/campaign-service/campaigns?vendor_id=later", fmt.Sprintf(newCampaignBody, "refused"), 404, func() {
			s.do(http.MethodPut, catalogs+"/vendors", `{"vendors":[{"id":"later","name":"L"}]}`)
		}},
		{"/webhooks/webhooks", `{"url":"https://example.com/","channel":"job:finish"}`, 201, func() {
			list := s.do(http.MethodGet, "/webhooks/webhooks", "")["webhooks"].([]any)
			s.do(http.MethodDelete, "/webhooks/webhooks/"+list[0].(map[string]any)["id"].(string), "")
		}},
	} {
		id := fmt.Sprint("repeat-", i)
		first := s.sendTo(s.Server, http.MethodPost, x.path, x.body, id, id)
		if first.Code != x.status {
			t.Fatalf("%s: %d %s", x.path, first.Code, first.Body)
		}
		if x.since != nil {
			x.since()
		}
		written := s.Written()
		again := s.sendTo(other, http.MethodPost, x.path, x.body, id, "again")
		if again.Code != first.Code || again.Body.String() != first.Body.String() || again.Header().Get("Content-Type") != first.Header().Get("Content-Type") {
			t.Errorf("%s: the repeat was answered %d %s, the request %d %s", x.path, again.Code, again.Body, first.Code, first.Body)
		}
		if changes := s.Written() - written; changes != 0 {
			t.Errorf("%s: the repeat made %d changes", x.path, changes)
		}
		if rec := s.sendTo(other, http.MethodPost, x.path, x.body+" ", id, "again"); rec.Code != http.StatusConflict {
			t.Errorf("%s: another request with the Idempotency-Key was answered %d %s", x.path, rec.Code, rec.Body)
		}
		var made struct{ Key, Secret string }
		_ = json.Unmarshal(first.Body.Bytes(), &made) // Refusals have neither.
		for _, secret := range []string{made.Key, made.Secret} {
			for _, r := range storedAnswers(t, s.Environment) {
				if secret != "" && strings.Contains(string(r.Value), secret) {
					t.Errorf("%s: the answer is stored readably", x.path)
				}
			}
		}
	}
}

// TestRepeatsAfterAStop: a request that is killed before its first command or after any of them is completed by its repeat on another node: one object
// is made, and the API key of the repeat's answer works. What somebody else has changed between the two stays.
func TestRepeatsAfterAStop(t *testing.T) {
	s := newStopping(t, command.LevelNewest)
	base := s.create("base")
	stopped := 0
	for after := range 5 {
		id := fmt.Sprint("stop-", after)
		body := fmt.Sprintf(`{"kind":"management","name":%q}`, id)
		if s.send(after, http.MethodPost, keys, body, id, id) == nil {
			stopped++
		}
		var made struct{ Key string }
		rec := s.sendTo(s.Server, http.MethodPost, keys, body, id, id+"-again")
		if err := json.Unmarshal(rec.Body.Bytes(), &made); err != nil || rec.Code != http.StatusCreated || s.keyNames(id) != 1 {
			t.Fatalf("stopped after %d commands: %d %s, %d keys", after, rec.Code, rec.Body, s.keyNames(id))
		}
		if got := call(s.Environment, http.MethodGet, keys, "Bearer "+made.Key, ""); got.Code != http.StatusOK {
			t.Errorf("stopped after %d commands: the key does not work: %d %s", after, got.Code, got.Body)
		}
		amount := 200 + after
		bids := "/campaign-service/campaigns/" + base + "/bids"
		body = fmt.Sprintf(`{"bids":[{"target":{"type":"product","id":"p"},"amount":%d}]}`, amount)
		if s.send(after, http.MethodPost, bids, body, id+"-bids", id) == nil {
			stopped++
		}
		if bid, found := s.bid(base, amount); found {
			amount += 1_000
			s.do(http.MethodPatch, bids+"/"+bid, fmt.Sprintf(`{"amount":%d}`, amount))
		}
		rec = s.sendTo(s.Server, http.MethodPost, bids, body, id+"-bids", id+"-again")
		if _, found := s.bid(base, amount); rec.Code >= 300 || !found {
			t.Errorf("stopped after %d commands: %d %s; the later change holds: %t", after, rec.Code, rec.Body, found)
		}
	}
	if stopped < 6 {
		t.Errorf("%d requests were stopped: the test says little", stopped)
	}
}

// TestRepeatsOnTwoNodesAtTheSameMoment: equal requests on two nodes at once make one object, and all get the same answer.
func TestRepeatsOnTwoNodesAtTheSameMoment(t *testing.T) {
	s := newStopping(t, command.LevelNewest)
	nodes := [2]http.Handler{s.Server, s.Node(t)}
	for round := range 20 {
		name := fmt.Sprint("both", round)
		var bodies [2]string
		var both sync.WaitGroup
		for i, node := range nodes {
			both.Go(func() {
				bodies[i] = s.sendTo(node, http.MethodPost, keys, fmt.Sprintf(`{"kind":"auction","name":%q}`, name), name, name).Body.String()
			})
		}
		both.Wait()
		if bodies[0] != bodies[1] || s.keyNames(name) != 1 || !strings.Contains(bodies[0], name) {
			t.Fatalf("%d keys, answers %s and %s", s.keyNames(name), bodies[0], bodies[1])
		}
	}
}

// TestLongAnswersAreMadeAgain: an answer above the bound is not stored, but the request is known: its repeat finds what it made,
// and another request is refused.
func TestLongAnswersAreMadeAgain(t *testing.T) {
	s := newStopping(t, command.LevelNewest)
	one := `{"target":{"type":"product","id":"p"},"amount":5}`
	body := fmt.Sprintf(`{"bids":[%s]}`, strings.TrimSuffix(strings.Repeat(one+",", 200), ","))
	base := s.create("base")
	bids := "/campaign-service/campaigns/" + base + "/bids"
	first := s.sendTo(s.Server, http.MethodPost, bids, body, "long", "a")
	again := s.sendTo(s.Node(t), http.MethodPost, bids, body, "long", "b")
	if first.Code != again.Code || first.Body.Len() < 16<<10 || !reflect.DeepEqual(first.Body.Bytes(), again.Body.Bytes()) {
		t.Errorf("%d %.200s\n%d %.200s", first.Code, first.Body, again.Code, again.Body)
	}
	if rec := s.sendTo(s.Server, http.MethodPost, bids, body+" ", "long", "c"); rec.Code != http.StatusConflict {
		t.Errorf("another request: %d", rec.Code)
	}
	if got := s.payloads("bid:create"); len(got) != 1 {
		t.Errorf("%d notices", len(got))
	}
}

// TestAnswersAreRemovedAfterADay removes what is older, and nothing else.
func TestAnswersAreRemovedAfterADay(t *testing.T) {
	w := managetest.New(t)
	post := func(key string) { call(w, "POST", keys, "management", newKey, "Idempotency-Key", key) }
	post("a")
	w.Advance(12 * time.Hour)
	post("b")
	for hours, want := range []int{0: 2, 11: 2, 12: 1, 23: 1, 24: 0} {
		if want == 0 && hours < 24 {
			continue
		}
		w.Advance(managetest.Start.Add(time.Duration(12+hours) * time.Hour).Sub(w.Now()))
		w.Work(t)
		if got := len(storedAnswers(t, w)); got != want {
			t.Errorf("%d hours later: %d answers, want %d", hours, got, want)
		}
	}
}
