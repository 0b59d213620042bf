// Command ceiling measures how close the auction path comes to an HTTP handler that does nothing.
//
// It runs two servers with the same options: a bare fasthttp handler, which reads each body and answers with a constant of
// the size, status and header fields of Gavel's answer, and Gavel's auction listener with a million bids loaded. Both get
// the same requests, alternately, in one run. It compares the CPU time of the server process per request, user and system:
// wall clock time and throughput depend on the other work of the machine and on the generator.
//
//	go run ./bench/ceiling         prints a table
//	JSON=1 go run ./bench/ceiling  prints only {"cases":{"1x4":{"ratio":…,"allocs":…},…}}
//
// A ratio is the bare handler's CPU per request over Gavel's: 1 would mean that auctions are free. Servers are pinned to
// one CPU and the generator to another, and every server runs with GOMAXPROCS=1. README.md says how to read the figures.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"
)

const (
	bids        = 1_000_000
	rounds      = 6 // The rounds of each server and shape; they alternate between the servers.
	roundTime   = 500 * time.Millisecond
	warmUpTime  = 300 * time.Millisecond
	connections = 16
	serverCPU   = 0
	clientCPU   = 1
)

// options are the flags.
type options struct {
	role    string // Empty for the tool itself, or the name of the server that this process is.
	profile string
	only    string
	rival   string

	// These change Gavel's server and not the rival's.
	withoutFastPath bool
	explain         int
	paced           bool
}

func main() {
	var o options
	flag.StringVar(&o.role, "role", "", "used by the tool itself, to start its servers")
	flag.StringVar(&o.profile, "cpuprofile", "", "write a CPU profile of Gavel's server to this file")
	flag.StringVar(&o.only, "only", "", "measure this shape alone, such as 1x50")
	flag.StringVar(&o.rival, "rival", "", "another build of this tool, or self, whose Gavel server is measured in the same rounds")
	flag.BoolVar(&o.withoutFastPath, "without-fast-path", false, "turn off Gavel's fast path, so that fasthttp reads all requests")
	flag.IntVar(&o.explain, "explain", 0, "explain one auction request in so many in Gavel; 0 explains none")
	flag.BoolVar(&o.paced, "paced", false, "pace every campaign in Gavel: half the bid, with budget, wallet, hold and own wins")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "ceiling:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	runtime.GOMAXPROCS(1)
	if o.role != "" {
		return serve(o, os.Stdout)
	}
	pinned := pin(clientCPU)
	servers, err := start(o)
	defer func() {
		for _, c := range servers {
			c.stop()
		}
	}()
	if err != nil {
		return err
	}

	var results []result
	for _, s := range shapes {
		if o.only != "" && o.only != s.name() {
			continue
		}
		r, err := measure(s, servers)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name(), err)
		}
		results = append(results, r)
	}
	if os.Getenv("JSON") == "1" {
		return printJSON(os.Stdout, results)
	}
	return printTable(os.Stdout, results, pinned)
}

// start starts the servers in the order of their indexes.
func start(o options) (servers []*child, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	builds := [][]string{
		{self, "-role=bare"},
		{
			self, "-role=gavel", "-cpuprofile=" + o.profile,
			fmt.Sprintf("-without-fast-path=%v", o.withoutFastPath), fmt.Sprintf("-explain=%d", o.explain),
			fmt.Sprintf("-paced=%v", o.paced),
		},
	}
	switch o.rival {
	case "":
	case "self":
		builds = append(builds, []string{self, "-role=gavel"})
	default:
		builds = append(builds, []string{o.rival, "-role=gavel"})
	}
	for _, build := range builds {
		c, err := startChild(build[0], build[1:]...)
		if err != nil {
			return servers, err
		}
		servers = append(servers, c)
	}
	return servers, nil
}
