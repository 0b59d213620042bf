package nodetest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
)

// Ports are below the range that the kernel uses for outgoing connections. Otherwise a client could get the port of a
// node that is stopped for a moment.
const (
	portFirst = 20_000
	portLast  = 31_999
)

var portNext atomic.Int64

// freePorts returns n ports on which nothing listened just now. Processes start at different ports of the range, so
// that two test binaries rarely try the same port.
func freePorts(n int) ([]int, error) {
	const count = portLast - portFirst + 1
	var ports []int
	for tries := 0; len(ports) < n; tries++ {
		if tries == count {
			return nil, errors.New("no free port")
		}
		port := portFirst + (os.Getpid()*37+int(portNext.Add(1)))%count
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			return nil, err
		}
		ports = append(ports, port)
	}
	return ports, nil
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
