package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"runtime/pprof"
	"sync/atomic"
	"syscall"

	"github.com/valyala/fasthttp"

	"github.com/gavel-ads/gavel/node/hotpath"
	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/serving/servingtest"
)

// serve is a server process. It prints its address and the key, then answers each line on standard input with its usage,
// until the input ends.
func serve(o options, out io.Writer) (err error) {
	pin(serverCPU)
	if o.profile != "" {
		f, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		if err = pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	key := "-"
	var answer atomic.Pointer[[]byte]
	answer.Store(&[]byte{'x'})
	if o.role == "gavel" {
		node := servingtest.New(servingtest.Spec{Bids: bids})
		key = node.AuctionKey
		if o.paced {
			pace(node.Market)
		}
		node.Deps.ExplainEvery = o.explain
		server := hotpath.New(hotpath.Options{
			Core: serving.New(node.Deps), Metrics: node.Metrics, Log: node.Deps.Log, WithoutFastPath: o.withoutFastPath,
		})
		go func() { _ = server.Serve(l) }()
	} else {
		go func() { _ = hotpath.Tuned(hotpath.Options{}, bareHandler(&answer)).Serve(l) }()
	}
	runtime.GC()
	if _, err = limits.CollapseHugePages(); err != nil { // A node does this too before it accepts requests.
		return err
	}
	fmt.Fprintln(out, l.Addr(), key)

	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var size int
		if n, _ := fmt.Sscanf(in.Text(), "answer %d", &size); n == 1 {
			body := make([]byte, size)
			for i := range body {
				body[i] = 'x'
			}
			answer.Store(&body)
		}
		printUsage(out)
	}
	return in.Err()
}

// bareHandler does the least that an HTTP server can do for such a request: it reads the body and sends one of the same size.
func bareHandler(answer *atomic.Pointer[[]byte]) fasthttp.RequestHandler {
	fields := [][2][]byte{
		{[]byte("Content-Type"), []byte("application/json")},
		{[]byte("Cache-Control"), []byte("no-store")},
		{[]byte("X-Content-Type-Options"), []byte("nosniff")},
		{[]byte("X-Request-Id"), []byte("00000000-0000-7000-8000-000000000000")},
		{[]byte("Access-Control-Allow-Origin"), []byte("*")},
		{[]byte("Access-Control-Expose-Headers"), []byte("X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After")},
	}
	return func(ctx *fasthttp.RequestCtx) {
		if len(ctx.Request.Body()) == 0 {
			ctx.SetStatusCode(fasthttp.StatusBadRequest)
			return
		}
		ctx.SetStatusCode(fasthttp.StatusCreated)
		for i := range fields {
			ctx.Response.Header.SetCanonical(fields[i][0], fields[i][1])
		}
		ctx.SetBody(*answer.Load())
	}
}

// printUsage prints the CPU time (user and system, in nanoseconds) and the heap allocations of this process so far.
func printUsage(out io.Writer) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		fmt.Fprintln(os.Stderr, "ceiling:", err)
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	fmt.Fprintln(out, usage.Utime.Nano()+usage.Stime.Nano(), memory.Mallocs)
}
