// Package scenarios makes the requests of a run: what a storefront would send, prepared so that sending costs little CPU time.
//
// A scenario prepares bodies and tokens once, before the clock starts, and gives every worker its own source of requests.
// Every click has its own token and no token is clicked twice, so that with budgets that do not run out each acknowledged
// click is one charge, and the reports can be checked to the last click.
package scenarios

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"
)

// The paths of the two operations of a storefront.
const (
	AuctionsPath = "/v2/auctions"
	EventsPath   = "/v2/events"
)

// Request is one request of a worker; Next fills it. OWNERSHIP: Body belongs to the worker and is valid until its next Next.
type Request struct {
	Path string
	Page string // The kind of page whose ads it asks for; empty: its winners are not counted.
	Body []byte
	// How many events a 200 to the request acknowledges.
	Impressions, Clicks, Others int
}

// Worker is the source of requests of one goroutine.
type Worker interface {
	// Next makes the next request. It returns false when the tokens are used up.
	Next(r *Request) bool
	// Answer receives the body of a 2xx answer to the request that Next made last.
	Answer(r *Request, answer []byte)
}

// Scenario is a kind of traffic.
type Scenario interface {
	// Prepare does everything that must not be measured. It may send requests.
	Prepare(ctx context.Context, env *Env) error
	// Worker returns the source of worker i, counted from 0. REQUIRES: Prepare.
	Worker(i int) Worker
}

// Poster is a connection that sends one request at a time; *driver.Conn is one.
type Poster interface {
	Post(path string, body []byte) (status int, answer []byte, err error)
	Close()
}

// Env is the settings of a scenario, and what it needs to send requests.
type Env struct {
	Seed     uint64
	Run      string   // The beginning of every event id, so that two runs on one node have different ids. URL-safe.
	Products []string // Products that campaigns bid on.
	Auctions int      // Auctions per request, 1 to 5.
	IDs      int      // Product ids per auction.
	Slots    int      // Winners wanted per auction, up to 40.
	Events   int      // Events per body, up to 50.
	Tokens   int      // Tokens that the scenarios clicks and sales fetch beforehand.
	Dial     func() (Poster, error)
	Now      func() time.Time
}

// IsAuction reports whether requests to a path are answered with winners.
func IsAuction(path string) bool { return strings.HasPrefix(path, AuctionsPath) }

// CountWinners counts the winners in an answer to a request for auctions.
func CountWinners(answer []byte) int { return bytes.Count(answer, tokenMember) }

// All names the scenarios.
var All = []string{"auctions", "clicks", "sales", "mixed", "browse", SearchPage, BannerPage, TravelPage, "storefront"}

// NeedsAds reports whether a scenario has pages other than listings, whose ads shop.Client.FillAds adds to a market.
func NeedsAds(name string) bool {
	s, err := New(name)
	m, is := s.(*mixed)
	return err == nil && is && (len(m.shares) > 1 || m.shares[0].page != ListingPage)
}

// New returns a scenario by name. Its error says that there is none of that name.
func New(name string) (Scenario, error) {
	switch name {
	case "auctions":
		return &auctions{}, nil
	case "clicks":
		return &clicks{}, nil
	case "sales":
		return &sales{}, nil
	case "mixed":
		return &mixed{shares: []share{{ListingPage, 1}}}, nil
	case SearchPage, BannerPage, TravelPage:
		return &mixed{shares: []share{{name, 1}}}, nil
	case "storefront":
		return &mixed{shares: storefrontPages}, nil
	case "browse":
		return &browse{}, nil
	}
	return nil, fmt.Errorf("scenario %q: want %s", name, strings.Join(All, ", "))
}
