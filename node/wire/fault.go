package wire

import (
	"bytes"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/event"
)

// rank orders violations as the interface orders its checks: rules on the body come before rules on an element, elements
// are ordered by position, and fields by their row in the interface's table. The violation of the lowest rank is answered;
// of two with the same rank, the first in the body.
type rank uint64

const (
	rankStructure rank = iota // Members that come twice.
	rankNames                 // Misspelt names of event arrays.
	rankBody                  // The body is no object.
	rankAuctions              // The number of auctions.
	rankNone      rank = 1<<64 - 1
)

// Violations are kept in scopes, because which rules hold may depend on a member that comes later in the body: some rules
// hold only for listings or only for banners, and some hold only for an event without a token. At the end of the element
// each of its scopes is committed to the main one, or discarded.
const (
	scopeMain = iota
	scopeListings
	scopeBanners
	scopeUnresolved = scopeListings // For events: the rules on entity, which hold only without a token.
	scopeHotels     = scopeListings // For travel auctions.
	scopeFlights    = scopeBanners
	scopeCount      = scopeBanners + 1
)

// Fault is the violation that a refused body is answered with: where it is, what was there and what is allowed. It is
// filled without allocation; only AppendMessage turns it into text.
// OWNERSHIP: it refers to the body, and is valid as long as that is.
type Fault struct {
	code  apierr.Code
	rank  rank
	path  string   // The member's path, with a # for each array position.
	infix string   // A part of the path to insert after the first position; usually empty. See scanner.pathInfix.
	at    [4]int32 // The array positions that replace each #, in order.
	rule  string   // The rule that is violated, as the end of a sentence that begins with the path.
	value []byte   // The value as it was sent; nil when there is none.
	byte  int      // The offset at which the body stops being JSON; -1 when the body is JSON.
}

// Code returns the violated rule's code.
func (f *Fault) Code() apierr.Code { return f.code }

// Follows reports whether the fault comes, in the interface's order of checks, after the resolvedBidId of e, an event of
// the refused body. A caller that has the token keys uses it to decide whether a token that is not authentic is the first
// violation. Events before the fault were parsed completely. REQUIRES: f was filled by ParseEvents.
func (f *Fault) Follows(e *event.Event) bool {
	token := rankKind*rank(e.Kind+1) + rankEvent*rank(e.Index+1) + row(eventResolvedBidID) // At most 50.
	return f.rank > token
}

// valueMax is the number of bytes of a value that a message shows at most.
const valueMax = 40 // BOUND: in bytes; a message must not echo a body.

// AppendMessage appends the text for the member message of the error object: the member's path, the rule, and at most 40
// bytes of the offending value as it was sent, in which ? replaces each character that is not printable. The text still
// needs JSON escaping.
func (f *Fault) AppendMessage(dst []byte) []byte {
	switch {
	case f.byte >= 0 && f.code == apierr.BadRequest:
		dst = append(dst, "the body is nested over 32 levels at byte "...)
		return strconv.AppendInt(dst, int64(f.byte), 10)
	case f.byte >= 0:
		dst = append(dst, "the body is not UTF-8 JSON at byte "...)
		return strconv.AppendInt(dst, int64(f.byte), 10)
	}
	dst = appendPath(dst, f.path, f.infix, f.at[:])
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

// missing is the position that violate takes for a value that is not in the body.
const missing = -1

// violate records that a field of the current element breaks a rule. The value begins at from and ends at pos.
func (s *scanner) violate(field rank, code apierr.Code, path, rule string, from int) {
	s.violateAt(s.base+field, code, path, rule, from, s.pos)
}

// violateAt records a violation in the current scope if its rank is lower than that of the violation recorded there. The
// value is the body's bytes from from to to, or none when from is missing.
func (s *scanner) violateAt(rank rank, code apierr.Code, path, rule string, from, to int) {
	f := &s.faults[s.scope]
	if rank >= f.rank {
		return
	}
	f.code, f.rank, f.path, f.infix, f.rule, f.at, f.value = code, rank, path, s.pathInfix, rule, s.at, nil
	if from != missing {
		f.value = bytes.TrimSpace(s.src[from:to]) // Readers take from before they skip white space.
	}
}

// commit moves the violation of a scope into the main scope, where it replaces one of a higher rank.
func (s *scanner) commit(scope int) {
	if s.faults[scope].rank < s.faults[scopeMain].rank {
		s.faults[scopeMain] = s.faults[scope]
	}
	s.discard(scope)
}

// discard removes the violation of a scope.
func (s *scanner) discard(scope int) { s.faults[scope].rank = rankNone }

// result returns the code that the body is answered with, and fills f when that is not OK.
func (s *scanner) result(f *Fault) apierr.Code {
	switch {
	case s.stop != apierr.OK:
		*f = Fault{code: s.stop, byte: s.badAt}
	case s.faults[scopeMain].rank != rankNone:
		*f = s.faults[scopeMain]
		f.byte = -1
	default:
		return apierr.OK
	}
	return f.code
}
