//go:build !race && linux && amd64

package hotpath_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/hotpath"
	"github.com/gavel-ads/gavel/node/serving/servingtest"
)

// budgets are the processor's instructions for one request, from the bytes on the connection to the bytes back, counted by
// callgrind. Counts do not include the cost of memory accesses, but they repeat to 0.3 % on a busy machine. A change that
// makes the path longer must change the number and give a reason; one that makes it shorter changes it too, so that the path
// stays short. Counts differ by 2 % between processors, because the standard library chooses code for them; the numbers are
// the larger ones seen.
var budgets = []struct {
	auctions, ids, withBid int // As in bench/ceiling. withBid is the percentage of the ids that have a bid.
	passes                 int // How many passes are counted: enough that the runtime's million of varying instructions does not matter.
	instructions           float64
}{
	{1, 4, 50, 120, 22_400},
	{1, 50, 10, 80, 35_700},
	{5, 100, 5, 20, 163_600},
	{5, 500, 5, 6, 490_400},
}

const (
	budgetOf        = "go1.26" // The budgets hold for this compiler.
	budgetTolerance = 0.02     // By how much a count may exceed its budget, because valgrind emulates other processors differently.
	countedRequests = 64       // The requests of a pass. Every shape has one pass to warm up; the counted shape has passes more.
	countedEnv      = "GAVEL_COUNTED_SHAPE"
)

func TestInstructions(t *testing.T) {
	if testing.Short() || !strings.HasPrefix(runtime.Version(), budgetOf) {
		t.Skip("counting takes half a minute, and budgets are those of " + budgetOf)
	}
	valgrind, err := exec.LookPath("valgrind")
	if err != nil {
		t.Skip("there is no valgrind to count with")
	}
	none := countInstructions(t, valgrind, -1)
	for i, b := range budgets {
		got := (countInstructions(t, valgrind, i) - none) / float64(b.passes*countedRequests)
		t.Logf("%dx%d: %.0f instructions", b.auctions, b.ids, got)
		if got > b.instructions*(1+budgetTolerance) {
			t.Errorf("%dx%d: %.0f instructions a request, the budget is %.0f", b.auctions, b.ids, got, b.instructions)
		}
	}
}

var collected = regexp.MustCompile(`Collected : (\d+)`)

// countInstructions counts all instructions of TestCounted with one shape.
func countInstructions(t *testing.T, valgrind string, shape int) float64 {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := underCallgrind(t, valgrind, os.DevNull, self, shape)
	found := collected.FindSubmatch(out)
	if found == nil {
		t.Fatalf("no count: %s", out)
	}
	n, _ := strconv.ParseFloat(string(found[1]), 64)
	return n
}

// underCallgrind runs TestCounted of a test binary with one shape under callgrind, which writes its counts to a file, and
// returns what it prints. Go then reads the clock without RDTSCP, which some processors have and valgrind does not know.
func underCallgrind(t *testing.T, valgrind, counts, binary string, shape int) []byte {
	t.Helper()
	c := exec.Command(valgrind, "--tool=callgrind", "--callgrind-out-file="+counts, binary, "-test.run=^TestCounted$", "-test.count=1")
	c.Env = append(os.Environ(), "GOGC=off", "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1,cpu.rdtscp=off", countedEnv+"="+strconv.Itoa(shape))
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return out
}

// TestCounted sends the requests whose instructions TestInstructions counts.
func TestCounted(t *testing.T) {
	counted, err := strconv.Atoi(os.Getenv(countedEnv))
	if err != nil {
		t.Skip("TestInstructions runs this")
	}
	const bids = 2_000
	node := servingtest.New(servingtest.Spec{Bids: bids})
	server := hotpath.New(hotpath.Options{Core: node.Core, Metrics: node.Metrics, Log: node.Deps.Log, NoDate: true})
	conn := &memoryConn{}
	for i, b := range budgets {
		random := rand.New(rand.NewPCG(uint64(b.auctions), uint64(b.ids)))
		stream := pipelined(node.AuctionKey, "/v2/auctions", countedRequests, func() []byte {
			return ceilingBody(random, b.auctions, b.ids, b.withBid, bids)
		})
		passes := 1
		if i == counted {
			passes += b.passes
		}
		for range passes {
			conn.in.Reset(stream)
			conn.out = conn.out[:0]
			if err := server.ServeConn(conn); err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(conn.out, []byte("HTTP/1.1 201 Created")); n != countedRequests {
				t.Fatalf("%d of %d requests were answered with 201", n, countedRequests)
			}
		}
	}
}

// ceilingBody returns a body like those of bench/ceiling.
func ceilingBody(random *rand.Rand, auctions, ids, withBid, bids int) []byte {
	body := []byte(`{"auctions":[`)
	for a := range auctions {
		if a > 0 {
			body = append(body, ',')
		}
		body = append(body, `{"type":"listings","slots":4,"products":{"ids":[`...)
		for i := range ids {
			if i > 0 {
				body = append(body, ',')
			}
			id := fmt.Sprintf("q-%07d", random.IntN(10_000_000))
			if i*withBid/100 != (i+1)*withBid/100 {
				id = servingtest.ProductID(random.IntN(bids))
			}
			body = strconv.AppendQuote(body, id)
		}
		body = append(body, `]}}`...)
	}
	return append(body, `]}`...)
}
