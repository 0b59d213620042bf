package operator_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/operator"
)

// firstMetrics and laterMetrics are of a node, ten seconds apart; restartedMetrics are of a node that began again at 0.
const firstMetrics = `
# TYPE gavel_auctions_total counter
gavel_auctions_total 1000
# TYPE gavel_errors_total counter
gavel_errors_total{code="a",status="400"} 3
# TYPE gavel_charged_micros_total counter
gavel_charged_micros_total{currency="EUR"} 1000000
# TYPE gavel_request_seconds histogram
gavel_request_seconds_bucket{operation="auctions",le="0.001"} 5
gavel_request_seconds_bucket{operation="auctions",le="0.01"} 5
gavel_request_seconds_bucket{operation="auctions",le="+Inf"} 5
gavel_request_seconds_sum{operation="auctions"} 1
gavel_request_seconds_count{operation="auctions"} 5
# TYPE gavel_ready gauge
gavel_ready 1
# TYPE gavel_raft_leader gauge
gavel_raft_leader{group="1"} 0
gavel_raft_leader{group="2"} 1
gavel_raft_leader{group="10"} 0
# TYPE gavel_raft_proposed_commands_total counter
gavel_raft_proposed_commands_total{group="2"} 10
`

const laterMetrics = `
# TYPE gavel_auctions_total counter
gavel_auctions_total 21000
# TYPE gavel_winners_total counter
gavel_winners_total 45
# TYPE gavel_errors_total counter
gavel_errors_total{code="a",status="400"} 3
gavel_errors_total{code="b",status="503"} 20
# TYPE gavel_charged_micros_total counter
gavel_charged_micros_total{currency="EUR"} 31000000
gavel_charged_micros_total{currency="CHF"} 5000000
# TYPE gavel_request_seconds histogram
gavel_request_seconds_bucket{operation="auctions",le="0.001"} 103
gavel_request_seconds_bucket{operation="auctions",le="0.01"} 104
gavel_request_seconds_bucket{operation="auctions",le="+Inf"} 104
gavel_request_seconds_sum{operation="auctions"} 1
gavel_request_seconds_count{operation="auctions"} 104
gavel_request_seconds_bucket{operation="events",le="0.001"} 0
gavel_request_seconds_bucket{operation="events",le="0.01"} 1
gavel_request_seconds_bucket{operation="events",le="+Inf"} 1
gavel_request_seconds_sum{operation="events"} 1
gavel_request_seconds_count{operation="events"} 1
# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 4.5
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 1.048576e+08
# TYPE gavel_disk_free_bytes gauge
gavel_disk_free_bytes 5.36870912e+10
# TYPE gavel_ready gauge
gavel_ready 1
# TYPE gavel_raft_leader gauge
gavel_raft_leader{group="1"} 0
gavel_raft_leader{group="2"} 1
gavel_raft_leader{group="10"} 0
# TYPE gavel_raft_term gauge
gavel_raft_term{group="2"} 7
# TYPE gavel_raft_commit_index gauge
gavel_raft_commit_index{group="2"} 1234
# TYPE gavel_raft_apply_lag gauge
gavel_raft_apply_lag{group="1"} 4
# TYPE gavel_raft_queued_commands gauge
gavel_raft_queued_commands{group="2"} 9
# TYPE gavel_raft_proposed_commands_total counter
gavel_raft_proposed_commands_total{group="2"} 60
`

const restartedMetrics = `
# TYPE gavel_auctions_total counter
gavel_auctions_total 50
# TYPE gavel_ready gauge
gavel_ready 0
# TYPE gavel_raft_leader gauge
gavel_raft_leader{group="1"} 1
# TYPE gavel_raft_term gauge
gavel_raft_term{group="1"} 8
`

const liveView = `
10:00:10

NODE  STATE      AUCTIONS/S  WINNERS/S  EVENTS/S  CHARGED/S           REFUSED/S  P99      CPU   MEMORY   DISK FREE  LEADS
a     ready      2000        4.5        0.0       0.50 CHF, 3.00 EUR  2.0        <= 10ms  45 %  100 MiB  50 GiB     1
b     not ready  5.0         0.0        0.0       0                   0.0        -        0 %   0 MiB    0 MiB      1
c     ready      measuring
d     no answer: refused

GROUP  LEADER               TERM  COMMITTED  COMMANDS/S  WAITING  BEHIND
1      b                    8     0          0.0         0        4
2      a, c                 7     1234       5.0         9        0
10     none of these nodes  0     0          0.0         0        0
`

// A view has the rates between two samples of each node, and what its groups say.
func TestLiveView(t *testing.T) {
	begin := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	sample := func(after time.Duration, text string) *operator.Sample {
		s, err := operator.ReadSample(begin.Add(after), strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	nodes := []*operator.LiveNode{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}}
	nodes[0].Observe(sample(0, firstMetrics), nil)
	nodes[0].Observe(sample(10*time.Second, laterMetrics), nil)
	nodes[1].Observe(sample(0, firstMetrics), nil)
	nodes[1].Observe(sample(10*time.Second, restartedMetrics), nil)
	nodes[2].Observe(nil, errors.New("refused"))
	nodes[2].Observe(sample(10*time.Second, firstMetrics), nil)
	nodes[3].Observe(sample(0, firstMetrics), nil)
	nodes[3].Observe(nil, errors.New("refused"))

	var view strings.Builder
	if err := operator.WriteLive(&view, begin.Add(10*time.Second), nodes); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(view.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	if got := "\n" + strings.Join(lines, "\n") + "\n"; got != liveView {
		t.Errorf("the view is %s\nwant %s", got, liveView)
	}
}

// What is not metrics is an error and no view.
func TestLiveSampleOfSomethingElse(t *testing.T) {
	if _, err := operator.ReadSample(time.Now(), strings.NewReader("<html>")); err == nil {
		t.Error("a page was read as metrics")
	}
}
