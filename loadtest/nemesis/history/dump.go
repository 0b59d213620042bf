package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
)

// line is one operation in the file: an object with its kind first, one on a line, so that common tools can search the file.
type line struct {
	Op    string `json:"op"`
	Value any    `json:"value"`
}

// bodyLine is a Body with names of events and tokens instead of pointers.
type bodyLine struct {
	Number            int
	Sent, Acked       Instant
	Attempts, Unknown int
	Events            []eventLine
}

type eventLine struct {
	Array, ID, Campaign, Token string
	Product, ReturnOf          string `json:",omitempty"`
	Pieces                     int64  `json:",omitempty"`
}

// numbered is a read or a change with the name of its campaign or vendor instead of a pointer.
type numbered struct {
	Campaign, Vendor string `json:",omitempty"`
	Read             any
}

// Dump writes the history as JSON lines. REQUIRES: the run is over.
func (h *History) Dump(w io.Writer) error {
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	var failed error
	put := func(op string, value any) {
		if failed == nil {
			failed = encoder.Encode(line{op, value})
		}
	}
	for _, v := range h.Vendors {
		put("vendor", v)
	}
	for _, f := range h.Faults {
		put("fault", f)
	}
	for _, b := range h.Bodies {
		put("events", b.line())
	}
	for _, c := range h.Changes {
		put("budget", numbered{Campaign: c.Campaign.Name, Read: plain(c, func(c *Change) { c.Campaign = nil })})
	}
	for _, p := range h.Payments {
		put("payment", numbered{Vendor: p.Vendor.ID, Read: plain(p, func(p *Payment) { p.Vendor = nil })})
	}
	for _, r := range h.Reversed {
		put("reversal", numbered{Campaign: r.Token.Campaign.Name, Read: plain(r, func(r *Reversal) { r.Token = &Token{Text: r.Token.Text} })})
	}
	for _, r := range h.Budgets {
		put("budget read", numbered{Campaign: r.Campaign.Name, Read: plain(r, func(r *BudgetRead) { r.Campaign = nil })})
	}
	for _, r := range h.Wallets {
		put("wallet read", numbered{Vendor: r.Vendor.ID, Read: plain(r, func(r *WalletRead) { r.Vendor = nil })})
	}
	for _, r := range h.Reports {
		put("report read", numbered{Campaign: r.Campaign.Name, Read: plain(r, func(r *ReportRead) { r.Campaign = nil })})
	}
	for _, a := range h.Auctions {
		put("auction", a)
	}
	for _, w := range h.Writes {
		put("write", w)
	}
	for _, s := range h.Isolated {
		put("isolated", s)
	}
	for _, s := range h.Down {
		put("down", s)
	}
	for _, s := range h.Stalls {
		put("stall", s)
	}
	for _, d := range h.Digests {
		put("digest", d)
	}
	for _, f := range h.Findings {
		put("finding", f)
	}
	return errors.Join(failed, out.Flush())
}

// plain returns a copy from which drop has removed the pointer that is written as a name.
func plain[T any](v T, drop func(*T)) T {
	drop(&v)
	return v
}

func (b *Body) line() bodyLine {
	l := bodyLine{Number: b.Number, Sent: b.Sent, Acked: b.Acked, Attempts: b.Attempts, Unknown: b.Unknown}
	for _, e := range b.Events {
		name := eventLine{Array: Names[e.Array], ID: e.ID, Product: e.Product, Pieces: e.Pieces}
		if e.ReturnOf != nil {
			name.ReturnOf = e.ReturnOf.ID
		}
		if e.Token != nil {
			name.Campaign, name.Token = e.Token.Campaign.Name, e.Token.Text
		}
		l.Events = append(l.Events, name)
	}
	return l
}
