package resource

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
)

// A member that no schema names is ignored, so that clients may send what only they know. But a misspelt member must not be ignored:
// a campaign with a "budjet" would spend without a limit. So a name that is close to that of a known member which is absent is a
// violation, and the names of all others are in a header field of the answer.

// IgnoredHeader is the header field that names the members of a request that were ignored.
const IgnoredHeader = "X-Gavel-Ignored"

const (
	editsMax   = 2     // BOUND: the interface's; a name that is so many edits away from a known one counts as misspelt.
	unknownMax = 1_000 // BOUND: distinct unknown names of a body that are compared; a comparison takes a microsecond.
	ignoredMax = 20    // BOUND: names in the header field.
	ignoredLen = 64    // BOUND: bytes of one of them; the rest is cut off.
)

// unknownNames are the unknown members of one body.
type unknownNames struct {
	close   map[unknownName][]string // The known names that an unknown one may stand for.
	ignored []string
}

type unknownName struct {
	object *huma.Schema
	name   string
}

// misspelt returns the known members that an unknown member of an object may stand for, the closest one first.
func (u *unknownNames) misspelt(object *huma.Schema, name string) []string {
	key := unknownName{object, name}
	if found, ok := u.close[key]; ok {
		return found
	}
	if len(u.close) >= unknownMax {
		return nil
	}
	var found []string
	for known := range object.Properties {
		if edits(name, known) <= editsMax {
			found = append(found, known)
		}
	}
	slices.SortFunc(found, func(a, b string) int {
		if d := edits(name, a) - edits(name, b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	if u.close == nil {
		u.close = map[unknownName][]string{}
	}
	u.close[key] = found
	return found
}

// unknown lists an unknown member as ignored. It returns false for one that may be misspelt, which the end of its object decides.
func (c *checker) unknown(object *huma.Schema, name string) bool {
	if len(c.names.misspelt(object, name)) > 0 {
		return false
	}
	c.ignore(name)
	return true
}

// refuseMisspelt reports an unknown member whose name is close to that of a member that is absent, and returns that member. When all
// close ones are present, it lists the unknown one as ignored and returns an empty text.
func (c *checker) refuseMisspelt(object *huma.Schema, name string, present map[string]bool) (meant string) {
	for _, known := range c.names.misspelt(object, name) {
		if present[known] {
			continue
		}
		c.push(name)
		c.violation("unknown_member", "is not known; did you mean "+known+"?")
		c.pop()
		return known
	}
	c.ignore(name)
	return ""
}

// ignore lists an ignored member by its path, without positions in arrays.
func (c *checker) ignore(name string) {
	if len(c.names.ignored) == ignoredMax {
		return
	}
	var path []byte
	for _, part := range c.loc[1:] {
		if strings.Trim(part, "0123456789") != "" { // No known member has such a name, so the others are positions.
			path = append(appendHeaderText(path, part), '.')
		}
	}
	path = appendHeaderText(path, name)
	path = path[:min(len(path), ignoredLen)]
	if !slices.Contains(c.names.ignored, string(path)) {
		c.names.ignored = append(c.names.ignored, string(path))
	}
}

// appendHeaderText appends a name with every byte that is no letter, digit, '-' or '_' percent-encoded.
func appendHeaderText(dst []byte, name string) []byte {
	const hex = "0123456789ABCDEF"
	for i := 0; i < len(name) && len(dst) < ignoredLen; i++ {
		switch b := name[i]; {
		case b >= '0' && b <= '9', b|0x20 >= 'a' && b|0x20 <= 'z', b == '-', b == '_':
			dst = append(dst, b)
		default:
			dst = append(dst, '%', hex[b>>4], hex[b&0xf])
		}
	}
	return dst
}

// setIgnored names the ignored members of a request in the header of its answer.
func (c *checker) setIgnored(h http.Header) {
	if len(c.names.ignored) > 0 {
		h.Set(IgnoredHeader, strings.Join(c.names.ignored, ", "))
	}
}

// edits is the number of characters that have to be inserted, deleted or replaced to make one name of the other, at most editsMax+1.
// Names that differ only in case need none, and names that have no character in common at the same place are never close.
func edits(a, b string) int {
	const far = editsMax + 1
	if fold(a) == fold(b) {
		return 0
	}
	if len(a) > utf8.UTFMax*len(b)+far { // Longer names than known ones can be; their characters are not even counted.
		return far
	}
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) > editsMax || len(y)-len(x) > editsMax {
		return far
	}
	row := make([]int, len(y)+1) // Of Wagner and Fischer's table.
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := diagonal
			if x[i] != y[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	if n := row[len(y)]; n < max(len(x), len(y)) {
		return min(n, far)
	}
	return far
}
