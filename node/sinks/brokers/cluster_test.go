package brokers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/gavel-ads/gavel/node/nodetest"
	"github.com/gavel-ads/gavel/node/sinks/sinkstest"
)

// binary builds gavel in its own module.
func binary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gavel")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", filepath.Join("..", "..", ".."), "-o", path, "./node").CombinedOutput(); err != nil {
		t.Fatalf("go build ./node: %v\n%s", err, out)
	}
	return path
}

// shop is a storefront whose shoppers click on every ad, through nodes that come and go.
type shop struct {
	*testing.T
	binary  string
	nodes   []*nodetest.Node
	client  *http.Client
	charged atomic.Int64 // Clicks that were acknowledged.
	stopped atomic.Bool
	away    atomic.Int64 // Number of the node that gets no requests, from 1; 0: none.
}

func (s *shop) send(method, url, key, body string) (int, []byte) {
	r, err := http.NewRequestWithContext(s.Context(), method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	answer, err := s.client.Do(r)
	if err != nil {
		return 0, nil
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, nil
	}
	return answer.StatusCode, text
}

func (s *shop) manage(want int, method, path, body string) {
	s.Helper()
	n := s.nodes[0]
	if status, text := s.send(method, n.ManageURL+"/public/v1"+path, n.Keys.ManagementKey, body); status != want {
		s.Fatalf("%s %s: %d %s", method, path, status, text)
	}
}

// market makes campaigns of several vendors on one product each.
func (s *shop) market() {
	s.Helper()
	for _, v := range []string{"1", "2", "3", "4"} {
		s.manage(200, "PUT", "/catalog-search-service/catalogs/vendors", `{"vendors":[{"id":"v`+v+`","name":"Vendor"}]}`)
		s.manage(200, "PUT", "/catalog-search-service/catalogs/products", `{"products":[{"id":"p`+v+`","name":"Product","vendors":["v`+v+`"],"categories":["c1"],"price":12.5}]}`)
		s.manage(200, "POST", "/billing-service/vendors/v"+v+"/balance", `{"balance":1000000000}`)
		s.manage(201, "POST", "/campaign-service/campaigns?vendor_id=v"+v,
			`{"name":"First","campaignType":"manual","bids":[{"target":{"type":"product","id":"p`+v+`"},"amount":50}]}`)
	}
}

// pause is the time between two clicks of a shopper. BOUND: an hour of them fits into the memory of kfake.
const pause = 5 * time.Millisecond

// run clicks until it is stopped. What is not acknowledged is not repeated: it may be charged or not.
func (s *shop) run(seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	for n := 0; !s.stopped.Load(); n++ {
		time.Sleep(pause)
		node := random.IntN(len(s.nodes))
		if int64(node)+1 == s.away.Load() { // As a load balancer does.
			continue
		}
		at := s.nodes[node]
		p := fmt.Sprint("p", 1+random.IntN(4))
		status, text := s.send("POST", at.AuctionURL+"/v2/auctions", at.Keys.AuctionKey, `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["`+p+`"]}}]}`)
		var answer struct {
			Results []struct {
				Winners []struct {
					ResolvedBidID string `json:"resolvedBidId"`
				} `json:"winners"`
			} `json:"results"`
		}
		if status != http.StatusCreated || json.Unmarshal(text, &answer) != nil || len(answer.Results) == 0 || len(answer.Results[0].Winners) == 0 {
			time.Sleep(10 * time.Millisecond) // The node is not there, or does not have the market yet.
			continue
		}
		body := fmt.Sprintf(`{"clicks":[{"id":"c-%d-%d","occurredAt":%q,"opaqueUserId":"u%d","resolvedBidId":%q}]}`,
			seed, n, time.Now().UTC().Format(time.RFC3339Nano), n, answer.Results[0].Winners[0].ResolvedBidID)
		if status, _ := s.send("POST", at.AuctionURL+"/v2/events", at.Keys.AuctionKey, body); status == http.StatusOK {
			s.charged.Add(1)
		}
	}
}

// further waits for so many more acknowledged clicks.
func (s *shop) further(n int64) {
	s.Helper()
	want, deadline := s.charged.Load()+n, time.Now().Add(patience)
	for s.charged.Load() < want {
		if time.Now().After(deadline) {
			s.Fatalf("%d clicks were acknowledged, want %d", s.charged.Load(), want)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// leader returns the index of the node that leads the first data group, as any node sees it.
func (s *shop) leader() int {
	s.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		for _, n := range s.nodes {
			status, text := s.send("GET", n.ManageURL+"/operator/v1/cluster", n.Keys.ManagementKey, "")
			var answer struct {
				Groups []struct{ Leader string } `json:"groups"`
			}
			var found int
			if status == http.StatusOK && json.Unmarshal(text, &answer) == nil && len(answer.Groups) > 0 {
				if _, err := fmt.Sscanf(answer.Groups[len(answer.Groups)-1].Leader, "n%d", &found); err == nil {
					return found - 1
				}
			}
		}
	}
	s.Fatal("no node knows a leader")
	return 0
}

// killed kills a node, waits for clicks at the others, and starts it again.
func (s *shop) killed(node int, clicks int64) {
	s.Helper()
	n := s.nodes[node]
	s.away.Store(int64(node) + 1)
	defer s.away.Store(0)
	if err := n.Kill(); err != nil {
		s.Fatal(err)
	}
	s.further(clicks)
	if err := n.Start(); err != nil {
		s.Fatal(err)
	}
	if err := n.WaitReady(s.Context()); err != nil {
		s.Fatal(err)
	}
}

// paused stops the process of a node, waits for clicks at the others, and lets it go on.
func (s *shop) paused(node int, clicks int64) {
	s.Helper()
	pid := s.nodes[node].Pid()
	s.away.Store(int64(node) + 1)
	defer s.away.Store(0)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		s.Fatal(err)
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }() // Also when the test ends here.
	s.further(clicks)
}

// charge is a charge as the journal and as a message say it.
type charge struct {
	Group, Line, Requested, Amount, CommittedAt int64
	Kind, Campaign, Reference                   string
}

type chargeRow struct {
	Group       int64  `json:"group"`
	Line        int64  `json:"line"`
	Requested   int64  `json:"requested_micros"`
	Amount      int64  `json:"amount_micros"`
	CommittedAt int64  `json:"committed_at"`
	Kind        string `json:"kind"`
	Campaign    string `json:"campaign_id"`
	Reference   string `json:"reference"`
}

func (s *shop) chargeOf(text []byte) charge {
	s.Helper()
	var r chargeRow
	if err := json.Unmarshal(text, &r); err != nil {
		s.Fatalf("%s: %v", text, err)
	}
	return charge{r.Group, r.Line, r.Requested, r.Amount, r.CommittedAt, r.Kind, r.Campaign, r.Reference}
}

// journal reads the charges of all groups from a node, by gavel export.
func (s *shop) journal(n *nodetest.Node) map[charge]bool {
	s.Helper()
	file := filepath.Join(s.TempDir(), "journal.ndjson")
	now := time.Now().UTC()
	from, to := now.AddDate(0, 0, -1).Format(time.DateOnly), now.AddDate(0, 0, 1).Format(time.DateOnly)
	cmd := exec.CommandContext(s.Context(), s.binary, "export", "journal", "--from", from, "--to", to, "--out", file, "--data-dir", n.Dir())
	if out, err := cmd.CombinedOutput(); err != nil {
		s.Fatalf("gavel export: %v\n%s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		s.Fatal(err)
	}
	all := map[charge]bool{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if c := s.chargeOf(lines.Bytes()); strings.HasSuffix(c.Kind, "_charge") {
			all[c] = true
		}
	}
	return all
}

// compare checks what a consumer has against the journal.
func (s *shop) compare(broker string, got []sinkstest.Received, want map[charge]bool) {
	s.Helper()
	known := map[charge]string{}
	for _, r := range got {
		c := s.chargeOf(r.Body)
		if id, found := known[c]; found && id != r.ID {
			s.Errorf("%s: a charge has the ids %s and %s", broker, id, r.ID)
		}
		known[c] = r.ID
		if !want[c] {
			s.Errorf("%s: the journal has no %+v", broker, c)
		}
	}
	if missing := len(want) - len(known); missing != 0 {
		s.Errorf("%s: %d charges of %d are missing", broker, missing, len(want))
	}
	ids := slices.Collect(maps.Values(known))
	slices.Sort(ids)
	if len(slices.Compact(ids)) != len(known) {
		s.Errorf("%s: two charges have the same id", broker)
	}
	s.Logf("%s: %d charges, %d repeats", broker, len(known), len(got)-len(known))
}

// startMax is how long the start of a killed node may take: its time is not what is tested, and for an hour the machine may do
// other work beside it.
const startMax = 2 * time.Minute

// TestFaultsLoseNoCharge: three nodes send to Kafka and NATS while leaders are killed, or paused so that they believe to lead when they wake,
// and while either broker is away. A consumer of either has every charge of the journal, and none besides. GAVEL_SINK_MINUTES=60 for longer.
func TestFaultsLoseNoCharge(t *testing.T) {
	if testing.Short() {
		t.Skip("starts three nodes")
	}
	var end time.Time
	if text := os.Getenv("GAVEL_SINK_MINUTES"); text != "" {
		minutes, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		end = time.Now().Add(time.Duration(minutes) * time.Minute)
	}
	kafka, dir := kafkaCluster(t), t.TempDir()
	kafkaAway := interrupt(kafka)
	events := startNATS(t, dir, -1, nil)
	stream(t, events)
	port := portOf(events)
	s := &shop{T: t, binary: binary(t), client: &http.Client{Timeout: 5 * time.Second}}
	s.nodes = nodetest.StartCluster(t, 3, nodetest.Options{Binary: s.binary, ReadyTimeout: startMax, Args: []string{
		"--groups", "2", "--sinks-kafka-brokers", strings.Join(kafka.ListenAddrs(), ","), "--sinks-nats-servers", events.Addr().String(),
		"--ratelimit-management", "0", "--ratelimit-catalog", "0", "--disk-reserve", "1MiB",
	}})
	s.market()
	var shoppers sync.WaitGroup
	for seed := range uint64(2) {
		shoppers.Go(func() { s.run(seed) })
	}
	const between = 150
	s.further(between)
	faults := []func(){
		func() { s.killed(s.leader(), between) },
		func() { s.paused(s.leader(), between) },
		func() {
			events.Shutdown()
			events.WaitForShutdown()
			s.killed(s.leader(), between)
			events = startNATS(t, dir, port, nil)
		},
		func() {
			kafkaAway.Store(true)
			s.paused(s.leader(), between)
			kafkaAway.Store(false)
		},
	}
	for round := 0; round < len(faults) || time.Now().Before(end); round++ {
		faults[round%len(faults)]()
		s.further(between)
	}
	s.stopped.Store(true)
	shoppers.Wait()
	want := s.journal(s.nodes[0])
	if int64(len(want)) < s.charged.Load() {
		t.Errorf("%d clicks were acknowledged, the journal has %d charges", s.charged.Load(), len(want))
	}
	s.compare("kafka", received(consume(t, kafka, func(all []*kgo.Record) bool { return distinct(received(all)) >= len(want) })), want)
	from := stream(t, events)
	all, _ := stored(t, from)
	for deadline := time.Now().Add(patience); distinct(all) < len(want) && time.Now().Before(deadline); all, _ = stored(t, from) {
		time.Sleep(200 * time.Millisecond)
	}
	s.compare("nats", all, want)
}
