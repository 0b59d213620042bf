package nodetest

import (
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
)

// Ports are below the range that the kernel uses for outgoing connections. Otherwise a client could get the port of a
// node that is stopped for a moment.
const (
	portFirst = 20_000
	portLast  = 31_999
)

var portNext atomic.Int64

// reservePorts returns n ports on which nothing listens, which are the test's until it ends. A UDP socket of the same
// number, which no node opens, keeps each: otherwise another test binary may choose it before the test's node has opened
// it, or while that node is stopped.
func reservePorts(t testing.TB, n int) []int {
	t.Helper()
	const count = portLast - portFirst + 1
	var ports []int
	for tries := 0; len(ports) < n; tries++ {
		if tries == count {
			t.Fatal("no free port")
		}
		// Processes start at different ports, so that they rarely try the same one.
		port := portFirst + (os.Getpid()*37+int(portNext.Add(1)))%count
		if reserve(t, fmt.Sprintf("127.0.0.1:%d", port)) {
			ports = append(ports, port)
		}
	}
	return ports
}

// reserve keeps an address for the test, and reports false if somebody has it.
func reserve(t testing.TB, address string) bool {
	t.Helper()
	kept, err := net.ListenPacket("udp", address)
	if err != nil {
		return false
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		_ = kept.Close() // Nothing was sent.
		return false
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kept.Close() }) // Nothing was sent.
	return true
}

// ownEnvironment returns this process's environment without GAVEL_ variables: the settings of a developer must not
// change the result of a test.
func ownEnvironment() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GAVEL_") {
			env = append(env, v)
		}
	}
	return env
}
