//go:build !race && linux && amd64

package hotpath_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// locks are the files of Go's mutexes and channels. An uncontended Lock and Unlock are compiled into their callers, so their
// instructions carry the names of these files and not those of functions. The locks of the runtime are left out: the scheduler
// takes them at times that differ from run to run.
var locks = regexp.MustCompile(`/(sync|internal/sync)/(rw)?mutex\.go$|/runtime/chan\.go$`)

// lockInstructions is how many instructions in those files an auction request may have. A connection has some 60, which are
// one for each of its 64 requests here; a Lock and its Unlock have seven at least.
const lockInstructions = 4

// TestAuctionsTakeNoLock fails when an auction request takes a lock, whether anybody waits for it or not: a lock is a cache line
// that all cores write in turn, so that more cores would not answer more requests. It needs line numbers, which the binary of a
// plain go test does not have, and therefore builds the package's tests again.
func TestAuctionsTakeNoLock(t *testing.T) {
	if testing.Short() {
		t.Skip("building and counting take half a minute")
	}
	valgrind, err := exec.LookPath("valgrind")
	if err != nil {
		t.Skip("there is no valgrind to count with")
	}
	binary := filepath.Join(t.TempDir(), "hotpath.test")
	if out, err := exec.Command("go", "test", "-c", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	without := instructionsByFile(t, valgrind, binary, -1)
	with := instructionsByFile(t, valgrind, binary, 0)
	requests := float64(budgets[0].passes * countedRequests)
	var inLocks, inAll float64
	for file, n := range with {
		each := float64(n-without[file]) / requests
		inAll += each
		if each > 0 && locks.MatchString(file) {
			inLocks += each
			t.Logf("%s: %.2f instructions a request", file, each)
		}
	}
	if inAll < budgets[0].instructions/2 {
		t.Fatalf("callgrind names the files of %.0f instructions a request, which has %.0f", inAll, budgets[0].instructions)
	}
	if inLocks > lockInstructions {
		t.Errorf("an auction request has %.1f instructions of locks, at most %d are allowed", inLocks, lockInstructions)
	}
}

// instructionsByFile counts the instructions of TestCounted by the file of the source that they were compiled from.
func instructionsByFile(t *testing.T, valgrind, binary string, shape int) map[string]int64 {
	t.Helper()
	path := filepath.Join(t.TempDir(), "callgrind.out")
	underCallgrind(t, valgrind, path, binary, shape)
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var (
		byFile  = map[string]int64{}
		names   = map[string]string{} // Files by the number that callgrind gives each where it names it first.
		current string
		callee  bool // The next line has what a call cost in the function that was called, which is counted there.
	)
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line := lines.Text()
		key, value, isName := strings.Cut(line, "=")
		switch {
		case isName && key == "calls":
			callee = true
		case isName:
			number, name, first := strings.Cut(value, " ")
			ofFile := key == "fl" || key == "fi" || key == "fe"
			if first && (ofFile || key == "cfl" || key == "cfi") {
				names[number] = name
			}
			if ofFile {
				current = names[number]
			}
		case callee:
			callee = false
		default:
			if position, cost, found := strings.Cut(line, " "); found && strings.Trim(position, "+-*0123456789") == "" {
				n, _ := strconv.ParseInt(cost, 10, 64)
				byFile[current] += n
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return byFile
}
