// Package record reads recorded auctions of a real node (gavel record export) and makes days for the simulator of them,
// so that an operator can see what another budget, bid or reserve price would have brought.
//
// A recording is one JSON object, at most SizeMax bytes:
//
//	format         "gavel-recording-1"
//	from, to       RFC 3339: all requests in between had the same chance to be recorded
//	every          one in this many requests was recorded, on average
//	omitted        recorded requests that are left out
//	offsetSeconds  local time of the marketplace less UTC
//	reserveCpc, reserveCpm  reserve prices in micros, per click and per thousand impressions
//	campaigns      id, vendor (a number), charge ("CPC" or "CPM"), budget (micros of a day, 0: none), clickRate
//	auctions       at (Unix milliseconds), slots, banner (true or absent), bids: lists of campaign (its index), amount in
//	               micros after targeting, and quality in units of 1/2^30
//
// It contains nothing about shoppers or pages: no user id, query, location, product or token.
package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// Format is the value of the member format.
const Format = "gavel-recording-1"

// SizeMax is the largest recording that Read accepts. BOUND: a node exports about 300,000 bids of 30 bytes each.
const SizeMax = 64 << 20

// Recording is a recording, as described at the package.
type Recording struct {
	Format        string     `json:"format"`
	From          time.Time  `json:"from"`
	To            time.Time  `json:"to"`
	Every         int64      `json:"every"`
	Omitted       int        `json:"omitted"`
	OffsetSeconds int64      `json:"offsetSeconds"`
	ReserveCPC    int64      `json:"reserveCpc"`
	ReserveCPM    int64      `json:"reserveCpm"`
	Campaigns     []Campaign `json:"campaigns"`
	Auctions      []Auction  `json:"auctions"`
}

// Campaign is a campaign of a recording.
type Campaign struct {
	ID        string  `json:"id"`
	Vendor    int     `json:"vendor"`
	Charge    string  `json:"charge"`
	Budget    int64   `json:"budget"`
	ClickRate float64 `json:"clickRate"`
}

// Auction is an auction of a recording.
type Auction struct {
	AtMillis int64      `json:"at"`
	Slots    int        `json:"slots"`
	Banner   bool       `json:"banner,omitempty"`
	Bids     [][3]int64 `json:"bids"`
}

// Read reads and checks a recording. An error says what is wrong with it.
func Read(r io.Reader) (*Recording, error) {
	text, err := io.ReadAll(io.LimitReader(r, SizeMax+1))
	if err != nil {
		return nil, err
	}
	if len(text) > SizeMax {
		return nil, fmt.Errorf("the recording has more than %d bytes", SizeMax)
	}
	recording := &Recording{}
	if err := json.Unmarshal(text, recording); err != nil {
		return nil, fmt.Errorf("this is no recording: %w", err)
	}
	return recording, recording.check()
}

// check returns the first fault of a recording.
func (r *Recording) check() error {
	switch {
	case r.Format != Format:
		return fmt.Errorf("the format is %q; this program reads %q", r.Format, Format)
	case r.Every < 1:
		return errors.New("the node records no auctions: set explain.sample")
	case len(r.Auctions) == 0 || len(r.Campaigns) == 0:
		return errors.New("the recording has no auctions with bids")
	case r.Every > 1_000_000 || r.ReserveCPC < 0 || r.ReserveCPM < 0:
		return errors.New("a number of the recording is out of range")
	}
	for i := range r.Campaigns {
		c := &r.Campaigns[i]
		if c.Charge != "CPC" && c.Charge != "CPM" || c.Budget < 0 || !(c.ClickRate >= 0 && c.ClickRate <= 1) {
			return fmt.Errorf("campaign %d (%q) is not valid", i, c.ID)
		}
	}
	for i := range r.Auctions {
		a := &r.Auctions[i]
		if a.Slots < 1 || a.Slots > slotsMax || a.AtMillis < 0 || a.AtMillis > math.MaxInt64/2 {
			return fmt.Errorf("auction %d is not valid", i)
		}
		for _, b := range a.Bids {
			if b[0] < 0 || b[0] >= int64(len(r.Campaigns)) || b[1] < 1 || b[2] < 1 || b[2] > qualityOne {
				return fmt.Errorf("auction %d has a bid that is not valid", i)
			}
		}
	}
	return nil
}

const (
	slotsMax   = 40
	qualityOne = 1 << 30
)
