package lint

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestWordsFindsEachBannedWord plants every form of every banned word in a comment, a declared name, a log message and a document.
func TestWordsFindsEachBannedWord(t *testing.T) {
	list := newWordList(bannedWords)
	for _, b := range bannedWords {
		for form := range strings.SplitSeq(b.forms, "|") {
			for kind, text := range map[string]string{
				"comment":     "package p\n\n// This is the " + form + " of it.\nvar x int\n",
				"two lines":   "package p\n\n// This is the " + strings.ReplaceAll(form, " ", "\n// ") + "\n// of it.\nvar x int\n",
				"function":    "package p\n\nfunc find" + camelCase(form) + "Now() {}\n",
				"local name":  "package p\n\nfunc f() { my" + camelCase(form) + " := 1 }\n",
				"log message": "package p\n\nfunc f() { log.Warn(\"" + strings.ReplaceAll(form, " ", "_") + "_failed\") }\n",
				"log key":     "package p\n\nfunc f() { g(slog.Int(\"" + strings.ReplaceAll(form, " ", "_") + "\", 1)) }\n",
			} {
				for _, file := range []string{"raftstore/x.go", "raftstore/x_test.go"} {
					if found, err := list.checkGo(file, []byte(text)); err != nil || len(found) == 0 {
						t.Errorf("%q as %s in %s: found %v, %v", form, kind, file, found, err)
					}
				}
			}
			if found := list.check("README.md", splitWords("Here is "+form+", twice.\n", 1)); len(found) == 0 {
				t.Errorf("%q in a document is not found", form)
			}
		}
	}
}

func camelCase(form string) (name string) {
	for w := range strings.FieldsSeq(form) {
		name += strings.ToUpper(w[:1]) + w[1:]
	}
	return name
}

// TestWordsAcceptsHonestUses: neither the exceptions of a word, nor its use in the packages that need it, nor a word that only
// contains it is found.
func TestWordsAcceptsHonestUses(t *testing.T) {
	list := newWordList(bannedWords)
	accept := func(file, text string) {
		t.Helper()
		if found := list.check(file, splitWords(text, 1)); len(found) != 0 {
			t.Errorf("%q in %s: %v", text, file, found)
		}
	}
	for _, b := range bannedWords {
		for exception := range strings.SplitSeq(b.except, "|") {
			accept("raftstore/x.md", "It is the "+exception+" here.")
		}
		for pattern := range strings.SplitSeq(b.in, "|") {
			if pattern != "" {
				accept(strings.TrimSuffix(pattern, "/...")+"/x.md", strings.ReplaceAll(b.forms, "|", " and "))
			}
		}
	}
	accept("raftstore/x.md", "A withdrawn amount has headroom beside the outdoor clause; a slice is not flawed.")
}

func TestWordsNamesTheLine(t *testing.T) {
	const text = "package p\n\n// A plain comment.\nvar s = `first\nthe verdict\n`\n\n// The\n// door.\nvar strangers int\n"
	found, err := newWordList(bannedWords).checkGo("shard/fates_x.go", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var where []string
	for _, f := range found {
		where = append(where, f.Where)
	}
	want := []string{"shard/fates_x.go:1", "shard/fates_x.go:5", "shard/fates_x.go:9", "shard/fates_x.go:10"}
	if !slices.Equal(where, want) {
		t.Errorf("found %v, want %v", where, want)
	}
}

// TestBannedWordsAreUsable: a form is listed once, in lower case, and has a replacement that is not banned itself.
func TestBannedWordsAreUsable(t *testing.T) {
	list := newWordList(bannedWords)
	seen := map[string]bool{}
	for _, b := range bannedWords {
		for form := range strings.SplitSeq(b.forms, "|") {
			if seen[form] || form != strings.ToLower(form) || form == "" {
				t.Errorf("%q is listed twice or not in lower case", form)
			}
			seen[form] = true
		}
		if found := list.check("raftstore/x.md", splitWords(b.use, 1)); b.use == "" || len(found) != 0 {
			t.Errorf("the replacement of %q: %v", b.forms, found)
		}
	}
}

func TestSplitWords(t *testing.T) {
	var got []string
	for _, w := range splitWords("theHTTPServer's max_open\nfiles2Go", 1) {
		got = append(got, fmt.Sprint(w.text, w.line))
	}
	if want := "the1 http1 server1 s1 max1 open1 files2 go2"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// TestPendingMayOnlyFall: more findings than listed are faults, fewer are one, and as many are none.
func TestPendingMayOnlyFall(t *testing.T) {
	lists, err := ReadPending([]byte("# A comment.\nword a/b 2\nword c 1\nline-width c 7\n"))
	if err != nil {
		t.Fatal(err)
	}
	two := []Finding{{Where: "a/b/x.go:1"}, {Where: "a/b/x.go:2"}}
	one := Finding{Where: "c/y.md:3"}
	for _, c := range []struct {
		found  []Finding
		faults int
		next   Pending
	}{
		{append(slices.Clone(two), one), 0, Pending{"a/b": 2, "c": 1}},
		{append(slices.Clone(two), one, Finding{Where: "c/y.md:4"}), 3, Pending{"a/b": 2, "c": 1}}, // Both places, and how many are accepted.
		{two, 1, Pending{"a/b": 2}},
		{append(slices.Clone(two), one, Finding{Where: "d/z.go:1"}), 1, Pending{"a/b": 2, "c": 1}},
	} {
		faults, next := lists["word"].Compare(c.found)
		if len(faults) != c.faults || !reflect.DeepEqual(next, c.next) {
			t.Errorf("%v: faults %v, next %v; want %d and %v", c.found, faults, next, c.faults, c.next)
		}
	}
	if text := string(AppendPending(nil, lists)); text != "line-width c 7\nword a/b 2\nword c 1\n" {
		t.Errorf("written as %q", text)
	}
	for _, wrong := range []string{"word a", "word a 0", "word a x"} {
		if _, err := ReadPending([]byte(wrong)); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}

func TestWidthsAndDesignsFindPlantedDocuments(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "DESIGN.md", strings.Repeat("word ", designWordsMax-1)+"last\n")
	writeFile(t, dir, "a/DESIGN.md", strings.Repeat("word\n", designWordsMax+2))
	writeFile(t, dir, "a/WIDE.md", strings.Repeat("é", columnsMax)+"\n"+strings.Repeat("e", columnsMax+1)+"\n")
	wide, err := Widths(dir)
	if err != nil || len(wide) != 2 || wide[0].Where != "DESIGN.md:1" || wide[1].Where != "a/WIDE.md:2" {
		t.Errorf("wide lines: %v, %v", wide, err)
	}
	long, err := Designs(dir)
	if err != nil || len(long) != 2 || long[0].Where != "a/DESIGN.md" {
		t.Errorf("long designs: %v, %v", long, err)
	}
}

func TestTestNamesFindsMissingTests(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "a_test.go", "package a\n\nfunc TestThere(t *testing.T) {}\n\nfunc (x) TestMethod() {}\n")
	writeFile(t, dir, "DESIGN.md", "Held by `TestThere`,\n`TestGone` and `TestMethod`; Test and `Testing` are words.\n")
	writeFile(t, dir, "bench/results/old.md", "`TestGone`\n")
	found, err := TestNames(dir)
	if err != nil || len(found) != 2 || found[0].Where != "DESIGN.md:2" || !strings.Contains(found[0].What, "TestGone") {
		t.Errorf("%v, %v", found, err)
	}
}
