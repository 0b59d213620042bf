package wire

import "github.com/gavel-ads/gavel/node/apierr"

// linkIDMax is how many characters an id of a link may have. It is the interface's, and less than that of opaqueUserId.
const linkIDMax = 64

const (
	linkFrom = iota
	linkTo
)

var linkMembers = []string{"from", "to"}

// Link is the body of POST /v2/events/beta/link-users: touches of From are credited with purchases of To. OWNERSHIP: the
// ids refer to the body or to the arena.
type Link struct {
	From, To []byte
	Arena    []byte // Reused from call to call.
}

// ParseLink parses a body into l. It returns OK, or the code of the first violation and fills f: ids have 1 to 64
// characters and are different. Messages do not show what was sent, because it is personal.
func ParseLink(body []byte, l *Link, f *Fault) apierr.Code {
	var s scanner
	s.begin(body, l.Arena, 0)
	l.From, l.To = nil, nil
	if s.peek() == 0 && s.pos == len(s.src) {
		*f = Fault{code: apierr.EmptyRequest, byte: -1, path: "the body", rule: "is empty"}
		return f.code
	}
	s.link(l)
	s.finish()
	l.Arena = s.arena
	return s.result(f)
}

func (s *scanner) link(l *Link) {
	if s.peek() != '{' {
		s.skip()
		s.violateAt(rankBody, apierr.BadRequest, "the body", "must be an object", missing, 0)
		return
	}
	s.base = rankKind
	o := s.object(linkMembers, "the body")
	for m := s.member(&o); m != end; m = s.member(&o) {
		switch m {
		case linkFrom:
			l.From = s.linkID(linkFrom, "from")
		case linkTo:
			l.To = s.linkID(linkTo, "to")
		}
	}
	for m, name := range linkMembers {
		if o.seen>>m&1 == 0 {
			s.violate(row(rank(m)), apierr.BadRequest, name, "is required: a string of 1 to 64 characters", missing)
		}
	}
	if string(l.From) == string(l.To) {
		s.violate(row(linkTo+1), apierr.BadRequest, "to", "must be another id than from", missing)
	}
}

func (s *scanner) linkID(member rank, path string) []byte {
	sp, p := s.stringValue()
	text := s.text(sp)
	if p != present || len(text) == 0 || longer(text, linkIDMax) {
		s.violate(row(member), apierr.BadRequest, path, "must be a string of 1 to 64 characters", missing)
	}
	return text
}
