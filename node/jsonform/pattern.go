package jsonform

import (
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// pattern is a compiled pattern with its size.
type pattern struct {
	*regexp.Regexp
	positions int
}

// compilePattern is the regexp engine of the library. The format "regex" of draft-07 also calls it, with texts of the
// content, so it has to check the size itself.
func compilePattern(text string) (jsonschema.Regexp, error) {
	n, err := patternSize(text)
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, ErrPatterns
	}
	return pattern{re, n}, nil
}

// patternSize returns the positions of a pattern, or ErrPatterns when it is no RE2 expression or has more than PatternMax.
func patternSize(text string) (int, error) {
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, ErrPatterns
	}
	n := positions(re)
	if n > PatternMax {
		return 0, ErrPatterns
	}
	return n, nil
}

// positions is about how many instructions a pattern has, with its repetitions expanded: x{1000} is short to write and
// long to compile.
func positions(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		n += positions(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(1, re.Min, re.Max)
	}
	return min(n, PatternMax+1)
}
