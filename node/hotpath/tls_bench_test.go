//go:build unix && !race

package hotpath_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/hotpath"
	"github.com/gavel-ads/gavel/node/serving/servingtest"
)

// cpuTime returns the CPU time of this process so far: of server and client together.
func cpuTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // It cannot fail with these arguments.
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// benchmarkConfig returns the TLS settings of a server with a new certificate of the usual kind, ECDSA P-256.
func benchmarkConfig(b *testing.B) *tls.Config {
	b.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		b.Fatal(err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}}
}

// BenchmarkTLS measures a request of five listings auctions with 100 products each on an open connection, with and without
// TLS, and a connection with one such request. cpu-us/op is the CPU time of server and client together, so TLS counts twice in it.
func BenchmarkTLS(b *testing.B) {
	n := servingtest.New(servingtest.Spec{Bids: 1000})
	request := pipelined(n.AuctionKey, "/v2/auctions", 1, func() []byte {
		return listings(mathrand.New(mathrand.NewPCG(1, 2)), 1000)
	})
	for _, row := range []struct {
		name         string
		secure, anew bool
	}{{"plain/open", false, false}, {"tls/open", true, false}, {"plain/new", false, true}, {"tls/new", true, true}} {
		b.Run(row.name, func(b *testing.B) {
			server := hotpath.New(hotpath.Options{Core: n.Core, Metrics: n.Metrics, Log: slog.New(slog.DiscardHandler)})
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			dial := func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) }
			if row.secure {
				go func() { _ = server.ServeTLS(l, benchmarkConfig(b)) }()
				dial = func() (net.Conn, error) {
					return tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
				}
			} else {
				go func() { _ = server.Serve(l) }()
			}
			defer func() { _ = server.Shutdown(b.Context()) }()
			var c net.Conn
			var answers *bufio.Reader
			began := cpuTime()
			for b.Loop() {
				if c == nil {
					if c, err = dial(); err != nil {
						b.Fatal(err)
					}
					answers = bufio.NewReader(c)
				}
				exchangeOne(b, c, answers, request)
				if row.anew {
					_ = c.Close()
					c = nil
				}
			}
			b.ReportMetric(float64((cpuTime()-began).Nanoseconds())/1e3/float64(b.N), "cpu-us/op")
			if c != nil {
				_ = c.Close()
			}
		})
	}
}

// exchangeOne sends a request and reads its answer.
func exchangeOne(b *testing.B, c net.Conn, answers *bufio.Reader, request []byte) {
	b.Helper()
	if _, err := c.Write(request); err != nil {
		b.Fatal(err)
	}
	answer, err := http.ReadResponse(answers, nil)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusCreated {
		b.Fatalf("status %d, %v", answer.StatusCode, err)
	}
}
