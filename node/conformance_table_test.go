package main_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// exchange is one row of a table: what is sent and what must be answered.
type exchange struct {
	where, name string
	status      int
	code        string // errCode; "-" for none.
	body        string
}

// exchanges reads a table of testdata/conformance. A line is one of
//
//	# comment, of which the last one names the rows below
//	each PREFIX ... SUFFIX                    how the rows below are wrapped into a body
//	base member=value ; member=value          the object that the rows below change
//	STATUS CODE  member=value ; member=value  a row: the base with these members, at the end and in this order; an empty
//	                                          value leaves the member out, a + before the name adds it a second time
//	STATUS CODE  = body                       a row: this very body
//
// and in values $-macros stand for what would be long or depends on the time, see expand.
func exchanges(t *testing.T, file string, expand func(string) string) []exchange {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/conformance", file))
	if err != nil {
		t.Fatal(err)
	}
	var rows []exchange
	var title, before, after string
	var base []pair
	for n, line := range strings.Split(string(text), "\n") {
		where := fmt.Sprintf("%s:%d", file, n+1)
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "":
		case word == "#":
			title = rest
		case word == "each":
			before, after, _ = strings.Cut(rest, "...")
		case word == "base":
			base = patch(nil, rest)
		default:
			fields := strings.Fields(line)
			status, err := strconv.Atoi(word)
			if err != nil || len(fields) < 2 {
				t.Fatalf("%s: %q", where, line)
			}
			_, change, _ := strings.Cut(rest, fields[1])
			body, whole := strings.CutPrefix(strings.TrimLeft(change, " "), "=")
			if !whole {
				body = strings.TrimSpace(before) + written(patch(base, change)) + strings.TrimSpace(after)
			}
			rows = append(rows, exchange{where, title, status, fields[1], expand(body)})
		}
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no rows", file)
	}
	return rows
}

// pair is a member of an object, its value as it is written.
type pair struct{ name, value string }

// patch returns the members of an object with some replaced, added or left out. A name with a "+" in front is added even
// when it is there already.
func patch(base []pair, change string) []pair {
	members := slices.Clone(base)
	for part := range strings.SplitSeq(change, " ; ") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			continue
		}
		if twice, ok := strings.CutPrefix(name, "+"); ok {
			members = append(members, pair{twice, value})
			continue
		}
		members = slices.DeleteFunc(members, func(m pair) bool { return m.name == name })
		if value != "" {
			members = append(members, pair{name, value})
		}
	}
	return members
}

// written is the object as text.
func written(members []pair) string {
	var b strings.Builder
	for _, m := range members {
		b.WriteString("," + strconv.Quote(m.name) + ":" + m.value)
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}

var (
	macro  = regexp.MustCompile(`\$(\w+)(?:\(([^)]*)\))?`)
	unique atomic.Int64
)

// expand replaces the macros of a table; more adds those that only one test knows.
//
//	$text(n), $wide(n)     n times x, or a letter of two bytes; no quotes
//	$words(n)              n words
//	$ids(n)                n quoted ids, with commas
//	$nest(n)               n arrays inside each other
//	$bytes(h,h)            raw bytes, in hexadecimal
//	$now, $in(d), $ago(d)  a quoted time
//	$id                    a quoted id that nobody else has
//	$copies(n,name)        n times another macro, with commas
func expand(text string, more map[string]string) string {
	return macro.ReplaceAllStringFunc(text, func(m string) string {
		parts := macro.FindStringSubmatch(m)
		name, arg := parts[1], parts[2]
		n, _ := strconv.Atoi(arg)
		at := func(sign time.Duration) string {
			d, err := time.ParseDuration(arg)
			if err != nil {
				panic(m)
			}
			return strconv.Quote(time.Now().Add(sign * d).UTC().Format("2006-01-02T15:04:05.000Z"))
		}
		switch name {
		case "text":
			return strings.Repeat("x", n)
		case "wide":
			return strings.Repeat("é", n)
		case "words":
			return strings.TrimSpace(strings.Repeat("w ", n))
		case "nest":
			return strings.Repeat("[", n) + strings.Repeat("]", n)
		case "ids":
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, `,"i%d"`, i)
			}
			return strings.TrimPrefix(b.String(), ",")
		case "bytes":
			var b []byte
			for h := range strings.SplitSeq(arg, ",") {
				v, err := strconv.ParseUint(h, 16, 8)
				if err != nil {
					panic(m)
				}
				b = append(b, byte(v))
			}
			return string(b)
		case "now":
			arg = "0s"
			return at(1)
		case "in":
			return at(1)
		case "ago":
			return at(-1)
		case "id":
			return fmt.Sprintf(`"id-%d"`, unique.Add(1))
		case "copies":
			count, what, _ := strings.Cut(arg, ",")
			n, _ = strconv.Atoi(count)
			var list []string
			for range n {
				list = append(list, expand("$"+what, more))
			}
			return strings.Join(list, ",")
		}
		if value, ok := more[name]; ok {
			return value
		}
		panic("no macro " + m)
	})
}

// runTable sends every row of a table to both listeners.
func (s *testClient) runTable(file, path string, more map[string]string) {
	rows := exchanges(s.T, file, func(text string) string { return expand(text, more) })
	for _, row := range rows {
		s.Run(row.name, func(t *testing.T) {
			s := s.inSubtest(t)
			for _, r := range s.v2(path, row.body) {
				code := r.errCode()
				if code == "" {
					code = "-"
				}
				if r.status != row.status || code != row.code {
					s.Errorf("%s: %.300s\n\tanswered %d %s, want %d %s: %.300s", row.where, row.body, r.status, code, row.status, row.code, r.body)
				}
				if bytes.Contains(r.body, []byte("panic")) {
					s.Errorf("%s: %s", row.where, r.body)
				}
			}
		})
	}
}
