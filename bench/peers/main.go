// Command peers measures Gavel beside what people would otherwise run for the same work: Redis, PostgreSQL and etcd.
//
// The work is one click: remember its id, so that it counts once, and take its price from the budget of its campaign. Each peer does that in
// the way that suits it best, over its own protocol. One generator drives all of them, in rounds in which the peers take turns, so that what
// the machine does besides hits all of them alike. At the end every peer is asked how much it has charged, which must be what it had
// acknowledged. README.md says what is measured and what it proves.
//
//	go run ./bench/peers -gavel bin/gavel
//
// A peer that is not installed is named with the package that has it, and left out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // The run could not be made, or a peer has not charged what it acknowledged.
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the flags.
type options struct {
	gavel                string
	parent               string
	peers                []string
	rounds               int
	connections, batches []int
	closed, open         time.Duration
	rate                 float64 // Events a second of the open loop, one in a body.
	batchFactor          float64 // How many times as many events a second when there are several in a body.
	json                 string
	rival                rival
}

// parse reads the flags. Its error names all that is wrong with them.
func parse(args []string, help io.Writer) (options, error) {
	var o options
	var peers, connections, batches string
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.SetOutput(help)
	f.StringVar(&o.gavel, "gavel", "bin/gavel", "gavel `BINARY`")
	f.StringVar(&o.parent, "dir", "", "`DIR` for the data of all peers, on the disk to measure; empty: the system's for temporary files")
	f.StringVar(&peers, "peers", strings.Join(names(), ","), "which peers to measure, separated by commas")
	f.IntVar(&o.rounds, "rounds", 3, "how often each measurement is made")
	f.StringVar(&connections, "connections", "16,64", "connections, each with one request in flight, up to 64")
	f.StringVar(&batches, "batches", "1,50", "events in a request, up to 50")
	f.DurationVar(&o.closed, "closed", 2500*time.Millisecond, "how long each closed loop lasts, in which a connection sends when it was answered")
	f.DurationVar(&o.open, "open", 2*time.Second, "how long each open loop lasts, in which requests are due at a fixed rate")
	f.Float64Var(&o.rate, "rate", 1000, "events a second of the open loop with one event in a request")
	f.Float64Var(&o.batchFactor, "batch-factor", 5, "how many times as many events a second the open loop has with several events in a request")
	f.StringVar(&o.json, "json", "", "also write the result as JSON to this `FILE`")
	f.StringVar(&o.rival.url, "peer-url", os.Getenv("PEER_URL"), "`URL` of another ad server, whose auctions are compared with Gavel's")
	f.StringVar(&o.rival.body, "peer-body", os.Getenv("PEER_BODY"), "`FILE` with the body of its auction request")
	f.StringVar(&o.rival.pids, "peer-pid", os.Getenv("PEER_PID"), "its process `IDS`, separated by commas, to measure their CPU time")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	var wrong error
	reject := func(format string, a ...any) { wrong = errors.Join(wrong, fmt.Errorf(format, a...)) }
	o.peers = strings.FieldsFunc(peers, func(r rune) bool { return r == ',' })
	for _, name := range o.peers {
		if peerNamed(name) == nil {
			reject("-peers: no peer %q; there are %s", name, strings.Join(names(), ", "))
		}
	}
	var err error
	if o.connections, err = numbers(connections, connectionsMax); err != nil {
		reject("-connections: %w", err)
	}
	if o.batches, err = numbers(batches, batchMax); err != nil {
		reject("-batches: %w", err)
	}
	if o.rounds < 1 || o.closed <= 0 || o.open <= 0 || o.rate <= 0 || o.batchFactor <= 0 {
		reject("-rounds, -closed, -open, -rate and -batch-factor must be above 0")
	}
	if (o.rival.url == "") != (o.rival.body == "") {
		reject("-peer-url and -peer-body (PEER_URL, PEER_BODY) belong together")
	}
	if f.NArg() > 0 {
		reject("unexpected argument %q", f.Arg(0))
	}
	return o, wrong
}

// numbers reads numbers from 1 to most, separated by commas.
func numbers(text string, most int) (all []int, err error) {
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1 || n > most {
			return nil, fmt.Errorf("%q: want numbers from 1 to %d", field, most)
		}
		all = append(all, n)
	}
	return all, nil
}

// command runs the command line and returns its exit code.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "peers:", err)
		return exitUsage
	}
	result, err := perform(ctx, o, stderr)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "peers:", err)
		return exitFailed
	}
	err = result.write(stdout)
	if o.json != "" {
		err = errors.Join(err, result.writeJSON(o.json))
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "peers:", err)
		return exitFailed
	}
	if len(result.Faults) > 0 {
		return exitFailed
	}
	return exitOK
}
