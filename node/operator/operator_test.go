package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// fakeCluster records the calls that it receives.
type fakeCluster struct {
	calls      []string
	fail       error
	backup     []byte     // Written before fail is returned.
	logRequest LogRequest // Of the last call of ArchiveLog.
}

func (p *fakeCluster) record(words ...string) error {
	p.calls = append(p.calls, strings.Join(words, " "))
	return p.fail
}

func (p *fakeCluster) Status(context.Context) Status {
	return Status{
		ClusterID: "00c0ffee", Node: "n1",
		Nodes: []Node{
			{ID: "n1", Address: "10.0.0.1:7400", Voter: true, Reachable: true, NodeInfo: NodeInfo{Version: "v1", Disk: &Disk{Free: 5 << 30, Low: true}}},
			{ID: "n2", Address: "10.0.0.2:7400", Error: "connection refused"},
		},
		Groups: []Group{
			{Group: 1, Leader: "n1", Term: 7, Replicas: []Replica{
				{Node: "n1", ReplicaState: ReplicaState{Group: 1, Commit: 99, Applied: 99, Digest: "aa", StalenessMillis: 12}},
				{Node: "n2", ReplicaState: ReplicaState{Group: 1, Commit: 99, Applied: 99, Digest: "bb"}},
			}},
			{Group: 2},
			{Group: 3, Leader: "n1", Replicas: []Replica{
				{Node: "n1", ReplicaState: ReplicaState{Group: 3, Applied: 9_000, Digest: "aa"}},
				{Node: "n2", Lag: 5_000, ReplicaState: ReplicaState{Group: 3, Applied: 4_000, Digest: "bb", ContactMillis: 40}},
				{Node: "n3", Lag: 6_000, ReplicaState: ReplicaState{Group: 3, Applied: 3_000, Digest: "cc", ContactMillis: 90_000}}, // Its leader does not reach it, so the lag is expected.
				{Node: "n4", Lag: 1_000, ReplicaState: ReplicaState{Group: 3, Applied: 8_000, Digest: "dd", ContactMillis: 40}},
			}},
		},
	}
}

func (p *fakeCluster) Admit(_ context.Context, node, address string) error {
	return p.record("admit", node, address)
}

func (p *fakeCluster) Promote(_ context.Context, node string) error { return p.record("promote", node) }

func (p *fakeCluster) Remove(_ context.Context, node string) error { return p.record("remove", node) }
func (p *fakeCluster) Drain(context.Context) error                 { return p.record("drain") }
func (p *fakeCluster) Transfer(_ context.Context, group uint16, node string) error {
	return p.record("transfer", string(rune('0'+group)), node)
}

func TestTheClientDoesWhatTheHandlerServes(t *testing.T) {
	p := &fakeCluster{}
	server := httptest.NewServer(Handler(p, "http://gavel.test"))
	defer server.Close()
	c := Client{URL: strings.TrimPrefix(server.URL, "http://") + "/", Key: "key"}
	ctx := t.Context()
	all := func() []error {
		return []error{c.Admit(ctx, "n3", "10.0.0.3:7400"), c.Promote(ctx, "n 3"), c.Remove(ctx, "n3"), c.Transfer(ctx, 2, "n3"), c.Drain(ctx)}
	}
	for _, err := range all() {
		if err != nil {
			t.Error(err)
		}
	}
	want := "admit n3 10.0.0.3:7400, promote n 3, remove n3, transfer 2 n3, drain"
	if got := strings.Join(p.calls, ", "); got != want {
		t.Errorf("did %s, want %s", got, want)
	}
	for want, fail := range map[string]error{
		"503 Service Unavailable: group 1 has no leader": errors.New("group 1 has no leader"),
		"409 Conflict: the only voter cannot be removed": fmt.Errorf("group 1: %w", Refused(errors.New("the only voter cannot be removed"))),
	} {
		p.fail = fail
		for _, err := range all() {
			if status, text, _ := strings.Cut(want, ": "); err == nil || !strings.Contains(err.Error(), status) || !strings.Contains(err.Error(), text) {
				t.Errorf("%v is %v, want %s", fail, err, want)
			}
		}
	}
	s, err := c.Status(ctx)
	if err != nil || s.ClusterID != "00c0ffee" || len(s.Nodes) != 2 || s.Groups[0].Replicas[1].Digest != "bb" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestInvalidBodies(t *testing.T) {
	p := &fakeCluster{}
	h := Handler(p, "http://gavel.test")
	for _, c := range []struct{ path, body string }{
		{"/nodes", ""},
		{"/nodes", `{"id":"n3"}`},
		{"/nodes", `{"id":"n3","address":"a:1","vote":true}`},
		{"/nodes", `{"id":"` + strings.Repeat("n", bodyMax) + `"}`},
		{"/transfer", `{"group":-1,"node":"n3"}`},
		{"/transfer", `{"group":1}`},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, Base+c.path, strings.NewReader(c.body)))
		if w.Code != http.StatusBadRequest || len(p.calls) > 0 {
			t.Errorf("%s %.40s: %d, did %v", c.path, c.body, w.Code, p.calls)
		}
	}
}

func TestTheTableListsWarnings(t *testing.T) {
	s := (&fakeCluster{}).Status(t.Context())
	var out bytes.Buffer
	if err := s.WriteTable(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"cluster 00c0ffee, seen by n1", "n1    10.0.0.1:7400  voter    ready        0    2      5.0 GiB LOW  v1",
		"n2    10.0.0.2:7400  learner  unreachable  -    0      -            -", "n1: 99, 12 ms; n2: 99, 0 ms",
		"WARNING: n2 does not answer: connection refused", "WARNING: n1 has less free disk space than its reserve and refuses writes",
		"WARNING: group 2 has no leader", "WARNING: group 1: the states of n2 and n1 differ at entry 99",
		"WARNING: group 3: n2 is 5000 entries behind although its leader contacts it",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if n := strings.Count(out.String(), "entries behind"); n != 1 {
		t.Errorf("%d replicas behind in\n%s", n, &out)
	}
}

// The state of a replica fits into its share of the control message.
func TestReplicaStatesAreBounded(t *testing.T) {
	most := ReplicaState{
		Group: math.MaxUint16, Commit: math.MaxInt64, Applied: math.MaxInt64, Digest: strings.Repeat("f", 16),
		StalenessMillis: time.Hour.Milliseconds() * 24 * 365, ContactMillis: ContactMillisMax,
	}
	text, err := json.Marshal(most)
	if err != nil || len(text) > replicaBytes-1 { // And a comma.
		t.Errorf("%d bytes: %s, %v", len(text), text, err)
	}
}
