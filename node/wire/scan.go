package wire

import (
	"bytes"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/market"
)

// depthMax bounds the nesting of a body, the body's own object included.
const depthMax = 32 // BOUND: the interface's; so skipping a value may recurse.

// scanner reads one body in a single pass. It checks the whole grammar, but two kinds of wrong are kept apart, because the
// interface answers the syntax of the whole body before any field rule:
//
//   - What makes the body unreadable stops the scan: stop is set and pos jumps to the end, so that every loop and every
//     reader above finds nothing more and ends by itself. Readers therefore return no error.
//   - What breaks a field rule is only remembered (violate), the one of lowest rank, and the scan goes on.
//
// Strings are spans of the body; only those with escapes are decoded, into the arena. Nothing is copied and nothing
// allocated once the pooled slices have grown.
//
// INVARIANT: a reader of a value consumes exactly one value, or stops the scan.
type scanner struct {
	src    []byte
	pos    int
	arena  []byte
	depth  int
	stop   apierr.Code // Not OK: the body is unreadable, at badAt.
	badAt  int
	seed   uint64
	sieve  market.Sieve // Of the product table; see auction.Request.
	base   rank         // Rank of the element being read, to which violate adds the field.
	at     [4]int32     // Positions of the element being read, outermost first, for the path in messages.
	lane   int          // Where violate keeps its finding.
	form   form         // What the elements of auctions are.
	within string       // The member of an auction that members of other auctions are read in, for the path: ".triggers".
	faults [lanes]Fault
}

func (s *scanner) begin(body, arena []byte, seed uint64) {
	s.src, s.arena, s.seed = body, arena[:0], seed
	for i := range s.faults {
		s.faults[i].rank = rankNone
	}
}

// halt stops the scan.
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
	names    []string // The members that the operation knows, matched exactly.
	mask     uint32   // Bit i: names[i] is known here.
	path     string   // Of the object, for messages.
	variant  apierr.Code
	started  bool
	unknown  bool   // The object has a member that is not known.
	seen     uint32 // Bit i: names[i] came.
	variants uint32 // Bit i: names[i] came in other case.
}

// object enters an object. REQUIRES: peek returned '{'.
func (s *scanner) object(names []string, path string) object {
	s.open()
	return object{names: names, mask: 1<<len(names) - 1, path: path}
}

// member moves to the value of the next known member and returns its position in names, or end. Unknown members are
// skipped, fully checked. A known member that comes twice is a violation, whichever of the two is in other case.
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
		s.stranger(o, name, from, to)
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

// stranger notes a member whose name is not known exactly. The comparison folds as Unicode does, because that is what the
// decoders do that a client, or a proxy before us, may use: "ſlots" is slots to them.
func (s *scanner) stranger(o *object, name []byte, from, to int) {
	o.unknown = true
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
		s.peek() // A bracket here is no value, and whoever reads the element finds that out.
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
		s.member(&o) // No member is known, so this passes all of them.
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

// null reads a null if one is there.
func (s *scanner) null() bool {
	if s.peek() != 'n' {
		return false
	}
	s.literal("null")
	return true
}
