// Package audit checks the data directory of a stopped node with code of its own: it reads the files as DESIGN.md of this
// room describes them, recomputes every balance from the journal in a second way, and compares.
//
// It imports nothing else of this module. An auditor that shared code with what it audits would share its mistakes.
package audit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Errors of Directory. Anything else that is wrong with a directory is a Problem in the report.
var (
	// ErrInUse means that a node runs on the directory.
	ErrInUse = errors.New("the directory is in use: stop the node first")
	// ErrUnreadable means that there is nothing to audit, or that it cannot be opened at all.
	ErrUnreadable = errors.New("the directory cannot be read")
)

// problemsMax bounds the problems that a report lists. BOUND: beyond it they are only counted; a damaged directory may have
// as many as records.
const problemsMax = 1_000

// Report is what an audit found.
type Report struct {
	Cluster         string     `json:"cluster"`
	Node            string     `json:"node"`
	Groups          []Group    `json:"groups"`
	Campaigns       []Campaign `json:"campaigns"`
	Wallets         []Wallet   `json:"wallets"`
	Notes           []string   `json:"notes"` // Worth knowing, nothing wrong.
	Problems        []Problem  `json:"problems"`
	ProblemsOmitted int        `json:"problemsOmitted"`
	InTransit       int        `json:"transfersInTransit"` // Between groups.
	InTransitMicros int64      `json:"inTransitMicros"`

	crossings map[[16]byte]*crossing // Transfers between groups.
}

// Problem is one thing that is wrong, and where.
type Problem struct {
	Place string `json:"place"` // Such as "group 1, line 17".
	What  string `json:"what"`
}

// Group sums up one group.
type Group struct {
	Group      uint16 `json:"group"`
	Source     string `json:"source"`  // What was audited: "state", or a snapshot's name when the state is behind it.
	Applied    uint64 `json:"applied"` // Index of the last entry in the state.
	Term       uint64 `json:"term"`
	Digest     string `json:"digest"` // Recomputed, 16 hex digits.
	Clock      int64  `json:"clockMillis"`
	Level      uint16 `json:"featureLevel"`
	Records    int64  `json:"records"`
	Lines      uint64 `json:"lines"`
	Charges    int64  `json:"charges"`   // Lines that decide a charge, those of 0 included.
	Unchecked  int64  `json:"unchecked"` // Charges from before the journal told the budgets.
	Charged    int64  `json:"chargedMicros"`
	Deposited  int64  `json:"depositedMicros"`
	Transfers  int    `json:"transfers"` // That were made, sent or received here.
	Campaigns  int    `json:"campaigns"`
	Wallets    int    `json:"wallets"`
	EventKeys  int64  `json:"eventKeys"`  // Remembered ids of events.
	ChargeKeys int64  `json:"chargeKeys"` // Remembered decisions.
	LogFirst   uint64 `json:"logFirst"`
	LogLast    uint64 `json:"logLast"`
	Entries    int64  `json:"logEntries"`
	Commands   int64  `json:"logCommands"`
	Snapshots  int    `json:"snapshots"`
}

// Campaign is what a campaign spent, by the journal, and what its reports count.
type Campaign struct {
	ID          string `json:"id"`
	Group       uint16 `json:"group"`
	Marketplace uint16 `json:"marketplace"`
	Vendor      string `json:"vendor"`
	Counts
	Budget      int64 `json:"budgetMicros"`
	SpentPeriod int64 `json:"spentPeriodMicros"`
	Spent       int64 `json:"spentMicros"` // Sum of its lines.
}

// Wallet is what a wallet or a ledger account holds, by the journal.
type Wallet struct {
	ID          string `json:"id"`
	Group       uint16 `json:"group"`
	Marketplace uint16 `json:"marketplace"`
	Vendor      string `json:"vendor"` // Empty: a ledger account.
	Name        string `json:"name"`
	Deposited   int64  `json:"depositedMicros"`
	Transferred int64  `json:"transferredMicros"`
	Spent       int64  `json:"spentMicros"`
	Balance     int64  `json:"balanceMicros"`
}

// Clean reports whether nothing is wrong.
func (r *Report) Clean() bool { return len(r.Problems) == 0 }

func (r *Report) problem(place, format string, args ...any) {
	if len(r.Problems) == problemsMax {
		r.ProblemsOmitted++
		return
	}
	r.Problems = append(r.Problems, Problem{place, fmt.Sprintf(format, args...)})
}

func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// Directory audits the data directory of a stopped node. It changes nothing in it.
//
// It streams: memory is bounded by the campaigns, the wallets, the bids that were ever charged and keysMax charge keys at
// a time; a longer journal is read once more for every further keysMax decisions.
func Directory(fs vfs.FS, dir string) (*Report, error) {
	d, err := openDirectory(fs, dir)
	if err != nil {
		return nil, err
	}
	r := &Report{
		Cluster: d.identity.Cluster, Node: d.identity.Node, Groups: []Group{}, Campaigns: []Campaign{}, Wallets: []Wallet{},
		Notes: []string{}, Problems: []Problem{}, crossings: map[[16]byte]*crossing{},
	}
	for _, id := range d.identity.Groups {
		d.group(r, id)
	}
	d.strangers(r)
	r.compareCrossings()
	slices.SortFunc(r.Campaigns, func(a, b Campaign) int { return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.ID, b.ID)) })
	slices.SortFunc(r.Wallets, func(a, b Wallet) int { return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.ID, b.ID)) })
	if err := d.close(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return r, nil
}

// group audits one group: log, snapshots, and the books in the state or, when the state is behind the newest snapshot, in
// that snapshot, which is where the node would start from.
func (d *directory) group(r *Report, id uint16) {
	g := Group{Group: id, Source: "state"}
	log := d.readLog(r, id)
	g.LogFirst, g.LogLast, g.Entries, g.Commands = log.first, log.last, log.entries, log.commands
	shots := d.readSnapshots(r, id)
	g.Snapshots = len(shots)
	applied := d.readApplied(r, id)
	from := d.stateOf(id)
	var newest uint64
	if n := len(shots); n > 0 {
		best := shots[n-1]
		newest = best.raftIndex
		if applied.index < best.header.index {
			r.note("group %d: the state is at entry %d, snapshot %s at %d: a start restores it, and it is audited instead",
				id, applied.index, best.name, best.header.index)
			from, applied, g.Source = best.source(d), best.header.applied(), best.name
		}
	}
	place := fmt.Sprintf("group %d", id)
	if log.first > newest+1 {
		r.problem(place, "the log begins at entry %d, behind the newest snapshot, which ends at %d", log.first, newest)
	}
	if end := max(log.last, newest); applied.index > end {
		r.problem(place, "the state is at entry %d, log and snapshots end at %d", applied.index, end)
	} else if log.lastCommand > applied.index {
		r.note("group %d: the log has entries up to %d that are not in the state yet; a start applies what is committed of them", id, log.lastCommand)
	}
	d.guardBehind(r, id, max(log.last, newest))
	g.Applied, g.Term = applied.index, applied.term
	auditBooks(r, &g, place, from, applied)
	r.Groups = append(r.Groups, g)
}
