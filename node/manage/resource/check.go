package resource

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/apierr"
)

// checker walks a body together with the schema of its operation. It collects all violations, and writes a copy of the body with
// only the members that the schema names.
//
// INVARIANT: everything that reaches the typed function was checked. The JSON decoder after it matches names without case, so it
// would read an unchecked {"NAME":…} as the member name; for the checker that is an unknown member, which it does not copy.
type checker struct {
	kit      *kit
	data     []byte
	out      []byte
	loc      []string
	found    []Violation
	repeated string // A known member that came twice in one object; the whole body is refused.
	known    map[*huma.Schema]map[string]string
	names    unknownNames

	emptyText bool // Op.EmptyText.
}

// body checks the whole text. It returns nil, a problem with a code for text that cannot be read, or one with the violations.
func (c *checker) body(s *huma.Schema) *Problem {
	if code := wellFormed(c.data); code != apierr.OK {
		message := ""
		if code == apierr.BadRequest {
			message = "the body is nested deeper than " + strconv.Itoa(depthMax) + " levels"
		}
		return &Problem{Code: code, Message: message}
	}
	c.known = map[*huma.Schema]map[string]string{}
	c.out = make([]byte, 0, len(c.data))
	c.value(skipSpace(c.data, 0), s)
	if c.repeated != "" {
		return &Problem{Code: apierr.BadRequest, Message: "the member " + c.repeated + " is repeated in one object"}
	}
	return invalid(c.found)
}

// value checks the value at i and returns the position after it.
func (c *checker) value(i int, s *huma.Schema) int {
	s = c.form(i, c.resolve(s))
	end := skipValue(c.data, i)
	text := c.data[i:end]
	switch {
	case text[0] == 'n' && s.Nullable: // Null is allowed only for members that null clears.
	case s.Type == huma.TypeObject && text[0] == '{' && len(s.Properties) > 0:
		c.object(i, s)
		return end
	case s.Type == huma.TypeArray && text[0] == '[':
		c.array(i, s)
		return end
	case s.Type == huma.TypeObject && text[0] != '{':
		c.violation("dict_type", "must be an object")
	case s.Type == huma.TypeArray:
		c.violation("list_type", "must be an array")
	default:
		c.scalar(text, s)
	}
	c.out = append(c.out, text...)
	return end
}

func (c *checker) resolve(s *huma.Schema) *huma.Schema {
	for s.Ref != "" {
		s = c.kit.registry.SchemaFromRef(s.Ref)
	}
	return s
}

// object checks the members that the schema names and leaves out all others. Members that the schema requires and the object
// lacks are violations, and so are misspelt ones.
func (c *checker) object(i int, s *huma.Schema) {
	names := c.folded(s)
	seen := make(map[string]bool, len(names))
	present := make(map[string]bool, len(names))
	var misspelt map[string]bool
	c.out = append(c.out, '{')
	start := len(c.out)
	for i = skipSpace(c.data, i+1); c.data[i] != '}'; {
		nameEnd := skipString(c.data, i)
		name := unquote(c.data[i:nameEnd])
		i = skipSpace(c.data, skipSpace(c.data, nameEnd)+1) // After the colon.
		end := skipValue(c.data, i)

		known, ok := names[fold(name)]
		if ok && seen[known] {
			c.repeated = known
			return
		}
		if ok {
			seen[known] = true
		}
		if (!ok || known != name) && !c.unknown(s, name) {
			if misspelt == nil {
				misspelt = map[string]bool{}
			}
			misspelt[name] = true
		}
		if ok && known == name && !c.absent(c.data[i:end], s, name) {
			present[name] = true
			if len(c.out) > start {
				c.out = append(c.out, ',')
			}
			c.out = append(strconv.AppendQuote(c.out, name), ':')
			c.push(name)
			c.value(i, s.Properties[name])
			c.pop()
		}
		if i = skipSpace(c.data, end); c.data[i] == ',' {
			i = skipSpace(c.data, i+1)
		}
	}
	c.out = append(c.out, '}')
	for _, name := range slices.Sorted(maps.Keys(misspelt)) {
		// The member that was meant counts as present: one mistake is one violation.
		present[c.refuseMisspelt(s, name, present)] = true
	}
	for _, name := range s.Required {
		if !present[name] {
			c.push(name)
			c.violation("missing", "required")
			c.pop()
		}
	}
}

// absent reports whether a member that is present counts as absent by the rules of the interface: null, unless null clears the member,
// and blank text where the member is optional, unless Op.EmptyText is set.
func (c *checker) absent(text []byte, object *huma.Schema, name string) bool {
	s, required := c.resolve(object.Properties[name]), slices.Contains(object.Required, name)
	if text[0] == 'n' {
		return !clears(s, required)
	}
	return !required && !c.emptyText && s.Type == huma.TypeString && text[0] == '"' && strings.TrimSpace(unquote(text)) == ""
}

// clears reports whether null clears a member; see Optional.
func clears(s *huma.Schema, required bool) bool { return s.Nullable && !required }

// folded maps the folded names of an object's members to the names themselves.
func (c *checker) folded(s *huma.Schema) map[string]string {
	if m, ok := c.known[s]; ok {
		return m
	}
	m := make(map[string]string, len(s.Properties))
	for name := range s.Properties {
		m[fold(name)] = name
	}
	c.known[s] = m
	return m
}

// fold makes names equal that a decoder would treat as the same. Upper case comes first, because ſ and K have two lower
// case forms.
func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }

func (c *checker) array(i int, s *huma.Schema) {
	count := 0
	c.out = append(c.out, '[')
	for i = skipSpace(c.data, i+1); c.data[i] != ']'; count++ {
		if s.MaxItems != nil && count == *s.MaxItems {
			c.violation("too_long", "must have at most "+counted(*s.MaxItems, "item"))
			return
		}
		if count > 0 {
			c.out = append(c.out, ',')
		}
		c.push(strconv.Itoa(count))
		end := c.value(i, s.Items)
		c.pop()
		if c.repeated != "" {
			return
		}
		if i = skipSpace(c.data, end); c.data[i] == ',' {
			i = skipSpace(c.data, i+1)
		}
	}
	c.out = append(c.out, ']')
	if s.MinItems != nil && count < *s.MinItems {
		c.violation("too_short", "must have at least "+counted(*s.MinItems, "item"))
	}
}

func (c *checker) push(part string) { c.loc = append(c.loc, part) }
func (c *checker) pop()             { c.loc = c.loc[:len(c.loc)-1] }

func (c *checker) violation(kind, msg string) {
	if len(c.found) < ViolationsMax {
		c.found = append(c.found, Violation{Loc: slices.Clone(c.loc), Msg: msg, Type: kind})
	}
}
