package keyword_test

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/gavel-ads/gavel/shard/keyword"
)

func TestWords(t *testing.T) {
	var n keyword.Normalizer
	for text, want := range map[string]string{
		"":                      "",
		" -!? ":                 "",
		"Red  Shoes!":           "red shoes",
		"size-42, wide":         "size 42 wide",
		"KÖLN Straße":           "köln straße",
		"Ko\u0308ln":            "köln",
		"ﬁne ２０ ½":              "fine 20 1 2",
		"ΟΔΟΣ οδος οδός":        "οδοσ οδοσ οδόσ",
		"\u212aelvin":           "kelvin",
		"J\u030c \u01f0":        "ǰ ǰ",
		"हिन्दी शब्द":           "हिन्दी शब्द",
		"日本 ﾃｽﾄ":                "日本 テスト",
		"x²":                    "x2",
		"don't":                 "don t",
		"a\x00b\tc\nd":          "a b c d",
		"broken \xff\xfe bytes": "broken bytes",
	} {
		if got := string(n.Words([]byte(text))); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := keyword.Text([]string{"Red", "running shoes"}); got != "red running shoes" {
		t.Errorf("%q", got)
	}
}

// FuzzWords compares with an independent implementation: plain strings, the case folder of x/text without its full
// foldings, and strings.FieldsFunc. It also checks that Words is idempotent and ignores case.
func FuzzWords(f *testing.F) {
	for _, text := range []string{"Red  Shoes!", "J\u030c", "\u0345Α", "ᾼ", "ΐ ΰ", "İstanbul", "ẞ", "ǅ", "\u1fb3", "\u03b1\u0345\u0301"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1_000 {
			return
		}
		var n keyword.Normalizer
		got := string(n.Words([]byte(text)))
		if again := string(n.Words([]byte(got))); again != got {
			t.Fatalf("%+q: %+q, and again %+q", text, got, again)
		}
		if want := naiveWords(text); got != want {
			t.Fatalf("%+q: %+q, the second opinion is %+q", text, got, want)
		}
		// Full case folding may merge more (ss and ß), never less.
		upper := string(n.Words([]byte(strings.Map(unicode.SimpleFold, norm.NFKC.String(text)))))
		if folder := cases.Fold(); norm.NFKC.String(folder.String(upper)) != norm.NFKC.String(folder.String(got)) && !unstable(text) {
			t.Fatalf("%+q: %+q, in other case %+q", text, got, upper)
		}
	})
}

// unstable reports whether a text has a rune beyond Latin-1, or the micro sign. Their other case may not be equal under
// simple folding, or may compose in another way.
func unstable(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxLatin1 || r == 0xb5 })
}

func naiveWords(text string) string {
	s := norm.NFKC.String(text)
	for range 2 {
		s = norm.NFKC.String(strings.Map(func(r rune) rune {
			orbit := []rune{r}
			for x := unicode.SimpleFold(r); x != r; x = unicode.SimpleFold(x) {
				orbit = append(orbit, x)
			}
			least := orbit[0]
			for _, x := range orbit {
				if x < least {
					least = x
				}
			}
			return unicode.ToLower(least)
		}, strings.ToValidUTF8(s, "\ufffd")))
	}
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r == unicode.ReplacementChar || !unicode.In(r, unicode.Letter, unicode.Mark, unicode.Digit)
	}), " ")
}

func TestWordsAllocatesNothing(t *testing.T) {
	var n keyword.Normalizer
	for _, text := range []string{"Red running shoes, size 42", "Kölner Straße ﬁne ２０ ΟΔΟΣ"} {
		b := []byte(text)
		n.Words(b)
		if a := testing.AllocsPerRun(100, func() { n.Words(b) }); a != 0 {
			t.Errorf("%q: %v allocations", text, a)
		}
	}
}
