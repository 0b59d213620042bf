package manage_test

import (
	"fmt"
	"strings"
)

// spelling is one spelling of the path of a route.
type spelling struct {
	name, path string
	as         meaning
}

// meaning is how the path rule reads a spelling.
type meaning int

const (
	samePath  meaning = iota // The same path: it must be answered as the plain spelling.
	noPath                   // A dot segment: 404, whoever asks.
	otherPath                // Another path, which does not exist.
)

// spellings returns the spellings of a path that checks, muxes or proxies are known to read differently.
func spellings(path string) []spelling {
	all := []spelling{
		{"absolute form", "http://elsewhere.test" + path, samePath},
		{"every letter", encoded(path, 0, len(path), "%%%02x"), samePath},
		{"every letter, upper case", encoded(path, 0, len(path), "%%%02X"), samePath},
		{"a dot at the end", path + "/.", noPath},
		{"an encoded dot at the end", path + "/%2E", noPath},
		{"two dots at the end", path + "/x/..", noPath},
		{"encoded dots behind an encoded slash", path + "%2F..", otherPath},
		{"encoded dots behind an encoded slash, and a character that has to be encoded", path + `%2F..%2F"`, otherPath},
		{"a quotation mark and dots", `/"%2F../..` + path, noPath},
		{"a quotation mark and encoded slashes", `/"%2F..%2F` + path, otherPath},
		{"a null byte", path + "%00", otherPath},
		{"a semicolon", path + ";x", otherPath},
	}
	if path != "/" {
		all = append(all, spelling{"a slash at the end", path + "/", otherPath})
	}
	for i := range len(path) {
		if path[i] != '/' {
			continue
		}
		before, after := path[:i], path[i+1:]
		all = append(all,
			spelling{fmt.Sprintf("two slashes at %d", i), before + "//" + after, samePath},
			spelling{fmt.Sprintf("a dot at %d", i), before + "/./" + after, noPath},
			spelling{fmt.Sprintf("an encoded dot at %d", i), before + "/%2e/" + after, noPath},
			spelling{fmt.Sprintf("two dots at %d", i), before + "/x/../" + after, noPath},
			spelling{fmt.Sprintf("two dots, one encoded, at %d", i), before + "/x/.%2E/" + after, noPath},
		)
		if after == "" {
			continue
		}
		end := i + 1 + len(after)
		if next := strings.IndexByte(after, '/'); next >= 0 {
			end = i + 1 + next
		}
		all = append(all,
			spelling{fmt.Sprintf("the first letter at %d", i), encoded(path, i+1, i+2, "%%%02x"), samePath},
			spelling{fmt.Sprintf("the last letter at %d, upper case", i), encoded(path, end-1, end, "%%%02X"), samePath},
		)
		if i > 0 {
			all = append(all, spelling{fmt.Sprintf("an encoded slash at %d", i), before + "%2f" + after, otherPath})
		}
	}
	return all
}

// encoded percent-encodes the characters of a range, except for slashes.
func encoded(path string, from, to int, format string) string {
	var b strings.Builder
	for i := range len(path) {
		if i < from || i >= to || path[i] == '/' {
			b.WriteByte(path[i])
		} else {
			fmt.Fprintf(&b, format, path[i])
		}
	}
	return b.String()
}
