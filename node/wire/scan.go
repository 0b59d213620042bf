package wire

import (
	"bytes"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/market"
)

// depthMax bounds the nesting of a body, the body's own object included.
const depthMax = 32 // BOUND: set by the interface; it also bounds the recursion of skip.

// scanner reads one body in a single pass. It checks the whole grammar. It treats syntax errors and rule violations
// differently, because the interface answers an error in the syntax of the whole body before any field rule:
//
//   - A syntax error stops the scan: halt sets stop and moves pos to the end, so that every loop and every reader above
//     finds nothing more and returns. Readers therefore return no error.
//   - A violation of a field rule is recorded (violate), and the scan continues. Of several the one of lowest rank is kept.
//
// Strings are spans of the body; only those with escapes are decoded, into the arena. Nothing else is copied, and nothing
// is allocated once the pooled slices have grown.
//
// INVARIANT: a reader of a value consumes exactly one value, or stops the scan.
type scanner struct {
	src       []byte
	pos       int
	arena     []byte
	depth     int
	stop      apierr.Code // Not OK when the scan was stopped: by a syntax error or too deep nesting, at badAt.
	badAt     int
	seed      uint64
	tagFilter market.TagFilter  // The tag filter of the product table, used to prefetch; see auction.Request.
	base      rank              // The rank of the element being read, to which violate adds the field.
	at        [4]int32          // The positions of the element being read, outermost first, for the path in messages.
	scope     int               // The scope in which violate records.
	form      form              // The kind of the elements of auctions.
	pathInfix string            // Inserted into paths while the members of triggers are read by the readers of an auction's members: ".triggers".
	faults    [scopeCount]Fault // The violation of lowest rank in each scope.
}

// begin prepares the scanner for a body. The arena is emptied and reused.
func (s *scanner) begin(body, arena []byte, seed uint64) {
	s.src, s.arena, s.seed = body, arena[:0], seed
	for i := range s.faults {
		s.faults[i].rank = rankNone
	}
}

// halt stops the scan at pos with the given code. The first call decides.
func (s *scanner) halt(code apierr.Code) {
	if s.stop == apierr.OK {
		s.stop, s.badAt = code, s.pos
	}
	s.pos = len(s.src)
}

// fail stops the scan because the body is not JSON at pos.
func (s *scanner) fail() { s.halt(apierr.InvalidJSON) }

// peek skips white space and returns the byte at pos, or 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		if c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
		s.pos++
	}
	return 0
}

// finish checks that nothing follows the body's value.
func (s *scanner) finish() {
	if s.peek(); s.pos < len(s.src) {
		s.fail()
	}
}

// open consumes the opening brace or bracket at pos and stops the scan when the nesting is too deep.
func (s *scanner) open() {
	s.pos++
	if s.depth++; s.depth > depthMax {
		s.halt(apierr.BadRequest)
	}
}

func (s *scanner) close() {
	s.pos++
	s.depth--
}

// end is what member returns when the object has no more known members.
const end = -1

// object is the cursor over the members of one object.
type object struct {
	names    []string    // The names of the members that the operation knows, matched exactly.
	mask     uint32      // Bit i is set if names[i] is known in this object.
	path     string      // The path of the object, for messages.
	variant  apierr.Code // Not OK if a known name in another case is a violation of this code.
	started  bool        // The object has at least one member.
	seen     uint32      // Bit i is set if names[i] came.
	variants uint32      // Bit i is set if names[i] came in another case.
}

// object enters an object. REQUIRES: peek returned '{'.
func (s *scanner) object(names []string, path string) object {
	s.open()
	return object{names: names, mask: 1<<len(names) - 1, path: path}
}

// member moves to the value of the next known member and returns its index in names, or end. Unknown members are skipped
// after a full syntax check. A known member that comes twice is a violation, also if one of the two names differs in case.
func (s *scanner) member(o *object) int {
	for {
		c := s.peek()
		if c == '}' {
			s.close()
			return end
		}
		if o.started {
			if c != ',' {
				s.fail()
				return end
			}
			s.pos++
			c = s.peek()
		}
		o.started = true
		if c != '"' {
			s.fail()
			return end
		}
		from := s.pos
		name := s.text(s.str())
		to := s.pos
		if s.peek() != ':' {
			s.fail()
			return end
		}
		s.pos++
		i := find(o.names, name)
		if i >= 0 && o.mask>>i&1 != 0 {
			if (o.seen|o.variants)>>i&1 != 0 {
				s.repeated(o, from, to)
			}
			o.seen |= 1 << i
			return i
		}
		s.unknownMember(o, name, from, to)
		s.skip()
	}
}

func find(names []string, name []byte) int {
	for i := range names {
		if string(name) == names[i] {
			return i
		}
	}
	return -1
}

// unknownMember records a member whose name does not match exactly. It compares with Unicode case folding, because the
// decoders that a client or a proxy in front of the node may use do the same: they read "ſlots" as slots.
func (s *scanner) unknownMember(o *object, name []byte, from, to int) {
	for i := range o.names {
		if o.mask>>i&1 == 0 || !bytes.EqualFold(name, []byte(o.names[i])) {
			continue
		}
		switch {
		case o.variant != apierr.OK:
			s.violateAt(rankNames, o.variant, o.path, "has an array whose name must be in lower case", from, to)
		case o.seen>>i&1 != 0:
			s.repeated(o, from, to)
		}
		o.variants |= 1 << i
	}
}

func (s *scanner) repeated(o *object, from, to int) {
	s.violateAt(rankStructure, apierr.BadRequest, o.path, "has a member twice, perhaps in other case", from, to)
}

// array enters an array. REQUIRES: peek returned '['.
func (s *scanner) array() { s.open() }

// element reports whether element i of the array follows, and moves to it. REQUIRES: the elements before i were read.
func (s *scanner) element(i int) bool {
	c := s.peek()
	if c == ']' {
		s.close()
		return false
	}
	if i > 0 {
		if c != ',' {
			s.fail()
			return false
		}
		s.pos++
		s.peek() // A closing bracket here is not checked: it is not a value, so the reader of the element stops the scan.
	}
	return s.stop == apierr.OK
}

// skip reads a value of any type without keeping it.
func (s *scanner) skip() {
	switch c := s.peek(); c {
	case '"':
		s.str()
	case '{':
		o := s.object(nil, "")
		s.member(&o) // No member is known, so this call skips all of them.
	case '[':
		s.array()
		for i := 0; s.element(i); i++ {
			s.skip()
		}
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		s.number()
	}
}

func (s *scanner) literal(text string) {
	if len(s.src)-s.pos < len(text) || string(s.src[s.pos:s.pos+len(text)]) != text {
		s.fail()
		return
	}
	s.pos += len(text)
}

// null reads a null and returns true, or returns false if the next value is not null.
func (s *scanner) null() bool {
	if s.peek() != 'n' {
		return false
	}
	s.literal("null")
	return true
}
