package wire

import (
	"bytes"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/event"
)

// rank orders violations as the interface orders its checks: what concerns the body before what concerns an element,
// elements by position, fields by their row in the table. The lowest is answered; of equal ones the first in the body.
type rank uint64

const (
	rankStructure rank = iota // Members that come twice.
	rankNames                 // Misspelt names of event arrays.
	rankBody                  // The body is no object.
	rankAuctions              // The number of auctions.
	rankNone      rank = 1<<64 - 1
)

// Violations are kept in lanes, because which rules hold may depend on a member that comes later in the body: what only
// listings or only banners mind, and what an event minds only without a token. At the end of the element its lanes are
// adopted into the main one, or dropped.
const (
	laneMain = iota
	laneListings
	laneBanners
	laneUnresolved = laneListings // Events: rules of entity.
	laneHotels     = laneListings // Travel.
	laneFlights    = laneBanners
	lanes          = laneBanners + 1
)

// Fault is the violation that a refused body is answered with: where it is, what was there and what is allowed. It is
// filled without allocation; only AppendMessage turns it into text.
// OWNERSHIP: it refers to the body, and is valid as long as that is.
type Fault struct {
	code  apierr.Code
	rank  rank
	path  string   // The member's path, a # for each position.
	inner string   // What stands between the first position and the rest of the path; mostly nothing.
	at    [4]int32 // The positions.
	rule  string   // What must hold.
	value []byte   // The value as it was sent; nil when none was.
	byte  int      // Where the body stops being JSON; -1 when it is.
}

// Code returns the violated rule's code.
func (f *Fault) Code() apierr.Code { return f.code }

// Follows reports whether the fault comes, in the interface's order, after the resolvedBidId of an event of the refused
// body. Whoever knows the keys finds out with it whether a token that is not authentic is the first violation. Events
// before the fault are as good as those of a good body. REQUIRES: f was filled by ParseEvents.
func (f *Fault) Follows(e *event.Event) bool {
	token := rankKind*rank(e.Kind+1) + rankEvent*rank(e.Index+1) + row(eventResolvedBidID) //nolint:gosec // At most 50.
	return f.rank > token
}

// valueMax is how much of a value a message shows.
const valueMax = 40 // BOUND: in bytes; a message must not echo a body.

// AppendMessage appends the text for the member message of the error object: the member's path, the rule, and the
// beginning of the offending value as it was sent, characters that do not print replaced by ?. The text needs JSON escaping.
func (f *Fault) AppendMessage(dst []byte) []byte {
	switch {
	case f.byte >= 0 && f.code == apierr.BadRequest:
		dst = append(dst, "the body is nested over 32 levels at byte "...)
		return strconv.AppendInt(dst, int64(f.byte), 10)
	case f.byte >= 0:
		dst = append(dst, "the body is not UTF-8 JSON at byte "...)
		return strconv.AppendInt(dst, int64(f.byte), 10)
	}
	dst = appendPath(dst, f.path, f.inner, f.at[:])
	dst = append(dst, ' ')
	dst = append(dst, f.rule...)
	if f.value == nil {
		return dst
	}
	dst = append(dst, " (got "...)
	dst = appendValue(dst, f.value)
	return append(dst, ')')
}

func appendPath(dst []byte, path, inner string, at []int32) []byte {
	for i := range len(path) {
		if path[i] == ']' {
			dst = append(append(dst, ']'), inner...)
			inner = ""
			continue
		}
		if path[i] != '#' {
			dst = append(dst, path[i])
			continue
		}
		dst = strconv.AppendInt(dst, int64(at[0]), 10)
		at = at[1:]
	}
	return dst
}

func appendValue(dst, value []byte) []byte {
	shown := 0
	for shown < len(value) {
		r, n := utf8.DecodeRune(value[shown:])
		if shown+n > valueMax {
			return append(dst, "…"...)
		}
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			r = '?'
		}
		dst = utf8.AppendRune(dst, r)
		shown += n
	}
	return dst
}

// missing stands for the position of a value that is not in the body.
const missing = -1

// violate remembers that field of the current element breaks a rule. from is where its value begins; it ends at pos.
func (s *scanner) violate(field rank, code apierr.Code, path, rule string, from int) {
	s.violateAt(s.base+field, code, path, rule, from, s.pos)
}

func (s *scanner) violateAt(rank rank, code apierr.Code, path, rule string, from, to int) {
	f := &s.faults[s.lane]
	if rank >= f.rank {
		return
	}
	f.code, f.rank, f.path, f.inner, f.rule, f.at, f.value = code, rank, path, s.within, rule, s.at, nil
	if from != missing {
		f.value = bytes.TrimSpace(s.src[from:to]) // Readers note where they are before they skip white space.
	}
}

// adopt moves a lane's finding into the main lane.
func (s *scanner) adopt(lane int) {
	if s.faults[lane].rank < s.faults[laneMain].rank {
		s.faults[laneMain] = s.faults[lane]
	}
	s.drop(lane)
}

// drop forgets a lane's finding.
func (s *scanner) drop(lane int) { s.faults[lane].rank = rankNone }

// verdict fills f and returns the code that the body is answered with.
func (s *scanner) verdict(f *Fault) apierr.Code {
	switch {
	case s.stop != apierr.OK:
		*f = Fault{code: s.stop, byte: s.badAt}
	case s.faults[laneMain].rank != rankNone:
		*f = s.faults[laneMain]
		f.byte = -1
	default:
		return apierr.OK
	}
	return f.code
}
