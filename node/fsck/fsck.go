// Package fsck verifies the data directory of a stopped node offline, with code of its own: it reads the files as
// DESIGN.md of this package describes them, recomputes every balance from the journal in a second way, and compares.
//
// It imports nothing else of this module. A verifier that shared code with what it verifies would share its mistakes.
package fsck

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Errors of Directory. Anything else that is wrong with a directory is a Problem of the report.
var (
	// ErrInUse is returned when a node runs on the directory.
	ErrInUse = errors.New("the directory is in use: stop the node first")
	// ErrUnreadable is returned when the directory is not a node's or cannot be opened.
	ErrUnreadable = errors.New("the directory cannot be read")
)

// problemsMax bounds the problems that a report lists. BOUND: further ones are only counted; a damaged directory may
// have as many as records.
const problemsMax = 1_000

// Report is the result of a check.
type Report struct {
	Cluster         string     `json:"cluster"`
	Node            string     `json:"node"`
	Groups          []Group    `json:"groups"`
	Campaigns       []Campaign `json:"campaigns"`
	Wallets         []Wallet   `json:"wallets"`
	Notes           []string   `json:"notes"` // Remarks that are not problems.
	Problems        []Problem  `json:"problems"`
	ProblemsOmitted int        `json:"problemsOmitted"`
	InTransit       int        `json:"transfersInTransit"` // Sent by a group and not received by the other yet.
	InTransitMicros int64      `json:"inTransitMicros"`

	crossGroup map[[16]byte]*crossGroupTransfer // Transfers between groups.
}

// Problem is one thing that is wrong, and its place.
type Problem struct {
	Place string `json:"place"` // For example "group 1, line 17".
	What  string `json:"what"`
}

// Group summarizes one group.
type Group struct {
	Group      uint16 `json:"group"`
	Source     string `json:"source"`  // What was checked: "state", or a snapshot's name when the state is older than it.
	Applied    uint64 `json:"applied"` // Index of the last entry in the state.
	Term       uint64 `json:"term"`
	Digest     string `json:"digest"` // Recomputed, 16 hex digits.
	Clock      int64  `json:"clockMillis"`
	Level      uint16 `json:"featureLevel"`
	Records    int64  `json:"records"`
	Lines      uint64 `json:"lines"`
	Charges    int64  `json:"charges"`   // Lines that decide a charge, those of 0 included.
	Unchecked  int64  `json:"unchecked"` // Charges from before the journal contained the budgets.
	Charged    int64  `json:"chargedMicros"`
	Deposited  int64  `json:"depositedMicros"`
	Transfers  int    `json:"transfers"` // Transfers made, sent or received in this group.
	Reversals  int    `json:"reversals"` // Reversals of charges.
	Campaigns  int    `json:"campaigns"`
	Wallets    int    `json:"wallets"`
	EventKeys  int64  `json:"eventKeys"`  // Stored ids of events.
	ChargeKeys int64  `json:"chargeKeys"` // Stored charge keys.
	LogFirst   uint64 `json:"logFirst"`
	LogLast    uint64 `json:"logLast"`
	Entries    int64  `json:"logEntries"`
	Commands   int64  `json:"logCommands"`
	Snapshots  int    `json:"snapshots"`
}

// Campaign is what a campaign spent, by the journal, and the counts of its reports.
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

// Wallet is the balance of a wallet or a ledger account, by the journal.
type Wallet struct {
	ID          string `json:"id"`
	Group       uint16 `json:"group"`
	Marketplace uint16 `json:"marketplace"`
	Vendor      string `json:"vendor"` // Empty for a ledger account.
	Name        string `json:"name"`
	Deposited   int64  `json:"depositedMicros"`
	Transferred int64  `json:"transferredMicros"`
	Spent       int64  `json:"spentMicros"`
	Balance     int64  `json:"balanceMicros"`
}

// Clean reports whether there is no problem.
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

// Directory checks the data directory of a stopped node and changes nothing in it. The error is ErrInUse or
// ErrUnreadable.
//
// It streams: memory is bounded by the number of campaigns, wallets and charged bids, and by keysMax charge keys; a
// journal with more decisions is read once more for every further keysMax of them.
func Directory(fs vfs.FS, dir string) (*Report, error) {
	d, err := openDirectory(fs, dir)
	if err != nil {
		return nil, err
	}
	r := &Report{
		Cluster: d.identity.Cluster, Node: d.identity.Node, Groups: []Group{}, Campaigns: []Campaign{}, Wallets: []Wallet{},
		Notes: []string{}, Problems: []Problem{}, crossGroup: map[[16]byte]*crossGroupTransfer{},
	}
	for _, id := range d.identity.Groups {
		d.group(r, id)
	}
	d.unknownKeys(r)
	r.compareCrossGroup()
	slices.SortFunc(r.Campaigns, func(a, b Campaign) int { return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.ID, b.ID)) })
	slices.SortFunc(r.Wallets, func(a, b Wallet) int { return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.ID, b.ID)) })
	if err := d.close(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return r, nil
}

// group checks one group: its log, its snapshots, and the records of its state or, when the state is older than the
// newest snapshot, those of the snapshot, which is where the node would start.
func (d *directory) group(r *Report, id uint16) {
	g := Group{Group: id, Source: "state"}
	log := d.readLog(r, id)
	g.LogFirst, g.LogLast, g.Entries, g.Commands = log.first, log.last, log.entries, log.commands
	snapshots := d.readSnapshots(r, id)
	g.Snapshots = len(snapshots)
	applied := d.readApplied(r, id)
	from := d.stateOf(id)
	var newest uint64
	if n := len(snapshots); n > 0 {
		best := snapshots[n-1]
		newest = best.raftIndex
		if applied.index < best.header.index {
			r.note("group %d: the state is at entry %d, snapshot %s at %d: a start restores the snapshot, so the snapshot was checked",
				id, applied.index, best.name, best.header.index)
			from, applied, g.Source = best.source(d), best.header.applied(), best.name
		}
	}
	place := fmt.Sprintf("group %d", id)
	if log.first > newest+1 {
		r.problem(place, "the log begins at entry %d and the newest snapshot ends at %d: entries between them are missing", log.first, newest)
	}
	if end := max(log.last, newest); applied.index > end {
		r.problem(place, "the state is at entry %d, but log and snapshots end at %d", applied.index, end)
	} else if log.lastCommand > applied.index {
		r.note("group %d: the log has entries up to %d that are not in the state yet; a start applies the committed ones", id, log.lastCommand)
	}
	d.checkGuard(r, id, max(log.last, newest))
	g.Applied, g.Term = applied.index, applied.term
	checkGroup(r, &g, place, from, applied)
	r.Groups = append(r.Groups, g)
}
