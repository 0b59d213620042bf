package lint

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Pending counts the findings of a rule that are accepted for now, by the directory that they are in. It is for a rule that is
// newer than the text it finds: the list may only get shorter.
type Pending map[string]int

// ReadPending reads the pending findings of all rules. A line is "rule directory count"; # starts a comment.
func ReadPending(text []byte) (map[string]Pending, error) {
	all := map[string]Pending{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		var rule, dir string
		var count int
		if _, err := fmt.Sscan(line, &rule, &dir, &count); err != nil || count <= 0 {
			return nil, fmt.Errorf("line %d: want a rule, a directory and a count above 0: %q", n, lines.Text())
		}
		if all[rule] == nil {
			all[rule] = Pending{}
		}
		all[rule][dir] = count
	}
	return all, lines.Err()
}

// AppendPending appends what ReadPending reads.
func AppendPending(dst []byte, all map[string]Pending) []byte {
	for _, rule := range slices.Sorted(maps.Keys(all)) {
		for _, dir := range slices.Sorted(maps.Keys(all[rule])) {
			dst = fmt.Appendf(dst, "%s %s %d\n", rule, dir, all[rule][dir])
		}
	}
	return dst
}

// Compare returns what has to be done about the findings of a rule: those of directories with more than the list accepts, and the
// entries of directories with fewer. Next is the list with every count that fell.
func (p Pending) Compare(found []Finding) (faults []Finding, next Pending) {
	byDir := map[string][]Finding{}
	for _, f := range found {
		byDir[path.Dir(f.Where)] = append(byDir[path.Dir(f.Where)], f)
	}
	next = Pending{}
	for _, dir := range slices.Sorted(maps.Keys(byDir)) {
		count := min(len(byDir[dir]), p[dir])
		if count > 0 {
			next[dir] = count
		}
		if len(byDir[dir]) > p[dir] {
			faults = append(faults, slices.Compact(byDir[dir])...) // A long document has one finding for each word.
		}
		if len(byDir[dir]) > p[dir] && p[dir] > 0 {
			faults = append(faults, Finding{dir, "pending", fmt.Sprintf("%d places, and %d are accepted for now", len(byDir[dir]), p[dir])})
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(p)) {
		if n := len(byDir[dir]); n < p[dir] {
			faults = append(faults, Finding{dir, "pending", fmt.Sprintf("%d places are accepted and %d are left; run the test with -rewrite", p[dir], n)})
		}
	}
	return faults, next
}
