// Package scenarios makes the requests of a run: what a storefront would send, prepared so that sending costs little.
//
// A scenario prepares shared material once, before the clock starts (bodies, tokens), and gives every worker its own
// source of requests. Every click is on a token of its own and no token is clicked twice, so that with budgets that last
// each acknowledged click is one charge and the books can be checked to the last one.
package scenarios

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Paths of the two operations of a storefront.
const (
	AuctionsPath = "/v2/auctions"
	EventsPath   = "/v2/events"
)

// Request is one request of a worker; Next fills it anew. OWNERSHIP: Body is the worker's, valid until its next Next.
type Request struct {
	Path string
	Body []byte
	// What a 200 to it acknowledges.
	Impressions, Clicks, Others int
}

// Worker is the source of requests of one goroutine.
type Worker interface {
	// Next makes the next request, false when the material is used up.
	Next(r *Request) bool
	// Answer takes the body of a 2xx answer to the request that Next made last.
	Answer(r *Request, answer []byte)
}

// Scenario is a kind of traffic.
type Scenario interface {
	// Prepare does everything that must not be measured.
	Prepare(ctx context.Context, env *Env) error
	// Worker returns the source of worker i, counted from 0. REQUIRES: Prepare.
	Worker(i int) Worker
}

// Poster sends one request; *conn.Conn is one.
type Poster interface {
	Post(path string, body []byte) (status int, answer []byte, err error)
	Close()
}

// Env is what scenarios are made from.
type Env struct {
	Seed     uint64
	Run      string   // Begins every event id, so that two runs on one node never meet. URL-safe.
	Products []string // Products that campaigns bid on.
	Auctions int      // Auctions per request, 1 to 5.
	IDs      int      // Product ids per auction.
	Slots    int      // Winners wanted per auction, up to 40.
	Events   int      // Events per body, up to 50.
	Tokens   int      // Tokens that the clicks scenario fetches beforehand.
	Dial     func() (Poster, error)
	Now      func() time.Time
}

// All names the scenarios.
var All = []string{"auctions", "clicks", "mixed", "browse"}

// New returns a scenario by name.
func New(name string) (Scenario, error) {
	switch name {
	case "auctions":
		return &auctions{}, nil
	case "clicks":
		return &clicks{}, nil
	case "mixed":
		return &mixed{}, nil
	case "browse":
		return &browse{}, nil
	}
	return nil, fmt.Errorf("scenario %q: want %s", name, strings.Join(All, ", "))
}
