package wire

import (
	"strings"
	"testing"
)

// TestStringsAtEveryOffset scans strings of several lengths and contents at every offset within a word of eight bytes.
func TestStringsAtEveryOffset(t *testing.T) {
	for pad := range 9 {
		for length := range 20 {
			for _, odd := range []string{"", "é", `\n`, "\x7f", "!", "\x00", "\xff"} {
				text := strings.Repeat("~", length) + odd
				body := []byte(strings.Repeat(" ", pad) + `"` + text + `"` + strings.Repeat(" ", 8-pad))
				var s scanner
				s.begin(body, nil, 0)
				s.peek()
				got := string(s.text(s.str()))
				bad := odd == "\x00" || odd == "\xff"
				if want := strings.ReplaceAll(text, `\n`, "\n"); !bad && (s.stop != 0 || got != want) || bad && s.stop == 0 {
					t.Errorf("%q: %q, %s", body, got, s.stop)
				}
			}
		}
	}
}

func TestWords(t *testing.T) {
	f := func(text string, want int) {
		t.Helper()
		if got := words([]byte(text), 5); got != want {
			t.Errorf("%q: %d words, want %d", text, got, want)
		}
	}
	f("", 0)
	f("  ", 0)
	f("one", 1)
	f(" two\u2003words\t", 2)
	f("1 2 3 4 5", 5)
	f(strings.Repeat("w ", 1000), 6) // Counting ends one above the bound.
}
