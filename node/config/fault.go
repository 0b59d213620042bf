package config

import (
	"errors"
	"strings"
)

// Fault is one mistake in a configuration.
type Fault struct {
	Where   string // "gavel.yaml:4:3", "env GAVEL_GROUPS", "flag --groups" or "default"; empty when unknown.
	Key     string // The setting; empty when the fault belongs to none.
	Problem string // What is wrong, with the value and the limit.
	Snippet string // The line of the file with a caret under the column, secrets masked; empty for other origins.
}

// Error gives place, key and problem on one line, and the line of the file below it.
func (f *Fault) Error() string {
	var parts []string
	for _, p := range []string{f.Where, f.Key, f.Problem} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	text := withoutUserinfo(strings.Join(parts, ": "))
	if f.Snippet != "" {
		text += "\n" + f.Snippet
	}
	return text
}

// Faults returns the faults that the error of Load or Validate joins.
func Faults(err error) []*Fault {
	joined, ok := err.(interface{ Unwrap() []error }) // Not errors.As: only an error that is itself a join is meant.
	if !ok {
		return nil
	}
	var out []*Fault
	for _, e := range joined.Unwrap() {
		if f, ok := errors.AsType[*Fault](e); ok {
			out = append(out, f)
		}
	}
	return out
}

// join returns one error that joins the faults, or nil for none.
func join(faults []*Fault) error {
	errs := make([]error, len(faults))
	for i, f := range faults {
		errs[i] = f
	}
	return errors.Join(errs...)
}

// nearest returns the candidate that was most likely meant, or "" when none is similar: at most a third of the letters
// may differ, and never more than three.
func nearest(word string, candidates []string) string {
	best, bestDistance := "", min(3, 1+len(word)/3)+1
	for _, c := range candidates {
		if d := distance(word, c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// closest returns nearest, or otherwise the key that shares the longest prefix of at least four letters.
func closest(word string, candidates []string) string {
	if near := nearest(word, candidates); near != "" {
		return near
	}
	best, bestLength := "", 3
	for _, c := range candidates {
		n := 0
		for n < min(len(c), len(word)) && c[n] == word[n] {
			n++
		}
		if n > bestLength {
			best, bestLength = c, n
		}
	}
	return best
}

// distance is the Levenshtein distance in bytes (V. Levenshtein, 1966), by the two-row form of the Wagner-Fischer table.
func distance(a, b string) int {
	previous, current := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := range len(a) {
		current[0] = i + 1
		for j := range len(b) {
			change := previous[j]
			if a[i] != b[j] {
				change++
			}
			current[j+1] = min(change, previous[j+1]+1, current[j]+1)
		}
		previous, current = current, previous
	}
	return previous[len(b)]
}
