package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// bannedWord is a word that needs its author beside it, or a metaphor, and what to write instead.
type bannedWord struct {
	forms  string // The word in all its forms, or phrases, separated by "|", in lower case.
	use    string // The replacement.
	except string // Phrases in which a form is the field's own term, separated by "|".
	in     string // Packages in which the word is honest, as patterns separated by "|".
}

// products are the packages whose made-up catalogs and travel offers name things that people buy.
const products = "node/demo|bench/traffic|loadtest/shop|shard/keyword"

// bannedWords is the list that no declared name, comment, string, log message or document may use. A word is listed only if it has
// no honest use in this repository, or if its honest uses are named.
var bannedWords = []bannedWord{
	{forms: "stranger|strangers", use: "unclustered peer, unknown member, unrelated process"},
	{forms: "rumour|rumours|rumor|rumors", use: "learned addresses, what another node reported"},
	{forms: "misfit|misfits|misfitting", use: "conflict (for example group conflict)"},
	{forms: "brake|brakes|braked|braking", use: "admission, limit, admission check"},
	{forms: "sighting|sightings", use: "digest report, observation"},
	{forms: "rouse|rouses|roused|rousing", use: "wake, notify"},
	{forms: "lonely|loneliness", use: "without contact to the leader (noLeaderContact)"},
	{forms: "shy|shyness", use: "avoids leadership"},
	{forms: "hear|hears|heard|hearing|unheard", use: "receive, learn, be contacted (replica age for the time since then)"},
	{forms: "rotting|rotten|rots|rotted", use: "corrupt, corruption"},
	{forms: "rot", use: "corruption", except: "bit rot"},
	{forms: "judge|judges|judged|judging", use: "evaluate, check, compare (a package: model)"},
	{forms: "verdict|verdicts", use: "result, decision, reason"},
	{forms: "diary|diaries", use: "task list"},
	{forms: "shelf|shelves|shelve|shelved|shelving", use: "collection, versioned", in: products},
	{forms: "soil|soiled|soils|soiling", use: "mark dirty", in: products},
	{forms: "sieve|sieves|sieved|sift|sifts|sifted|sifting", use: "prefilter, tag filter"},
	{forms: "twin|twins", use: "duplicate process, hash collision, duplicate", in: products},
	{forms: "worn", use: "cap reached", in: products},
	{forms: "spared", use: "passes pacing"},
	{forms: "fate|fates", use: "outcome, bid explanation"},
	{forms: "meetings", use: "exposures"},
	{forms: "door|doors", use: "listener", in: products},
	{forms: "room|rooms", use: "package; for memory or disk: space", except: "no room|has room|had room|have room|room for|make room|makes room|room in", in: products},
	{forms: "wall|walls", use: "import rule", except: "wall clock|wall clocks|wall time", in: products},
	{forms: "tape|tapes|taped", use: "recorder", in: products},
	{forms: "drawn", use: "sampled; chosen at random", except: "drawn from|drawn below"},
	{forms: "loan|loans|loaned", use: "a listener that is not closed; for money: credit"},
	{forms: "trail|trails", use: "audit log; for an index: follow, be behind", except: "must trail|trail the", in: products},
	{forms: "custody|custodian", use: "ownership, owner"},
	{forms: "rage|rages|raging", use: "inject faults"},
	{forms: "excuse|excuses|excused", use: "allowed exit, permitted"},
	{forms: "eye|eyes", use: "monitor; for a person: reader", in: products},
	{forms: "keeper|keepers", use: "supervisor"},
	{forms: "witness|witnesses|witnessed", use: "disk probe, observer, evidence"},
	{forms: "on paper|paper node|paper nodes", use: "reference server, model", except: "as on paper"},
	{forms: "speaker|speakers", use: "log handler, client", in: products},
	{forms: "riddle|riddles", use: "say what happened, to what, with which value"},
	{forms: "world|worlds", use: "environment, fixture, test server", except: "real world|hello world", in: products},
	{forms: "books", use: "ledger, records, reports or accounts; for a check of the disk: offline verification", in: products},
	{forms: "story|stories", use: "scenario; for settings: provenance"},
	{forms: "dice|die roll", use: "random source, randomness"},
	{forms: "house law|house laws|the house", use: "rule of the repository"},
	{forms: "law|laws", use: "rule", except: "zipf s law|zipf law|zipfs law|law of large numbers|little s law|littles law|power law"},
	{forms: "sins", use: "faults, breaches"},
	{forms: "to bite|bites", use: "finds, detects, fails"},
	{forms: "in peace", use: "without interruption, in order"},
	{forms: "let loose|lets loose|letting loose", use: "start"},
	{forms: "on the floor", use: "is dropped, is ignored"},
	{forms: "come to light|comes to light|brought to light", use: "is found, is applied"},
	{forms: "by heart", use: "in memory, cached"},
	{forms: "born", use: "created"},
	{forms: "lane|lanes", use: "pool, queue, fast path, worker queue"},
	{forms: "intake|intakes", use: "admission queue"},
	{forms: "twinkling|whim|whims", use: "say what decides"},
}

// notScanned are files that may quote banned words: this list and its test, what records the past, and a copy.
func notScanned(name string) bool {
	return name == "CHANGELOG.md" || name == "node/internal/lint/words.go" || name == "node/internal/lint/words_test.go" || copied(name)
}

// copied are copies of tables of the interface, which stay as they are.
func copied(name string) bool { return name == "node/apierr/testdata/errcodes.md" }

// phrase is one form of a banned word, as words in lower case.
type phrase struct {
	words  []string
	banned *bannedWord
}

// wordList looks up banned words by their first word.
type wordList struct {
	byFirst    map[string][]phrase
	exceptions map[*bannedWord][][]string
}

func newWordList(banned []bannedWord) *wordList {
	l := &wordList{byFirst: map[string][]phrase{}, exceptions: map[*bannedWord][][]string{}}
	for i := range banned {
		b := &banned[i]
		for form := range strings.SplitSeq(b.forms, "|") {
			words := strings.Fields(form)
			l.byFirst[words[0]] = append(l.byFirst[words[0]], phrase{words, b})
		}
		for exception := range strings.SplitSeq(b.except, "|") {
			if words := strings.Fields(exception); len(words) > 0 {
				l.exceptions[b] = append(l.exceptions[b], words)
			}
		}
	}
	return l
}

// Words looks for banned words in every tracked Go file and document of the repository at root: in file names, declared names,
// comments, and text. Of Go files that are no tests it reads all strings, of tests only log messages and their keys, because
// tests may hold data of customers.
func Words(root string) ([]Finding, error) {
	files, err := tracked(root)
	if err != nil {
		return nil, err
	}
	list := newWordList(bannedWords)
	var found []Finding
	for _, name := range files {
		if notScanned(name) {
			continue
		}
		goFile := path.Ext(name) == ".go" && !strings.Contains("/"+name, "/testdata/")
		if !goFile && path.Ext(name) != ".md" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // Deleted and not committed yet.
		}
		if err != nil {
			return nil, err
		}
		if !goFile {
			found = append(found, list.check(name, splitWords(string(text), 1))...)
			continue
		}
		more, err := list.checkGo(name, text)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}

// word is a word of a text, in lower case.
type word struct {
	text string
	line int
}

// splitWords splits a text into its words; names in camelCase and snake_case are several. The s of a genitive is a word.
func splitWords(text string, line int) (words []word) {
	runes := []rune(text)
	start := -1
	end := func(at int) {
		if start >= 0 {
			words = append(words, word{strings.ToLower(string(runes[start:at])), line})
			start = -1
		}
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r):
			end(i)
			if r == '\n' {
				line++
			}
		case start < 0:
			start = i
		case unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			end(i)
			start = i
		}
	}
	end(len(runes))
	return words
}

// check reports the banned words in a sequence of words of a file.
func (l *wordList) check(file string, words []word) []Finding {
	var found []Finding
	for i := range words {
		for _, p := range l.byFirst[words[i].text] {
			if !startsWith(words[i:], p.words) || l.excepted(p, words, i) || p.banned.honestIn(path.Dir(file)) {
				continue
			}
			found = append(found, Finding{
				fmt.Sprintf("%s:%d", file, words[i].line), "word",
				fmt.Sprintf("%q: write %s", strings.Join(p.words, " "), p.banned.use),
			})
		}
	}
	return found
}

// excepted reports whether the phrase at words[i] is part of an exception.
func (l *wordList) excepted(p phrase, words []word, i int) bool {
	for _, exception := range l.exceptions[p.banned] {
		for before := range exception {
			if i >= before && startsWith(words[i-before:], exception) && before+len(p.words) <= len(exception) {
				return true
			}
		}
	}
	return false
}

func (b *bannedWord) honestIn(dir string) bool {
	for pattern := range strings.SplitSeq(b.in, "|") {
		if pattern != "" && matches(pattern, dir) {
			return true
		}
	}
	return false
}

func startsWith(words []word, want []string) bool {
	if len(words) < len(want) {
		return false
	}
	for i, w := range want {
		if words[i].text != w {
			return false
		}
	}
	return true
}

// checkGo reports the banned words of a Go file. It needs no types, so that files of other systems are read, too.
func (l *wordList) checkGo(name string, text []byte) ([]Finding, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	found := l.check(name, splitWords(strings.TrimSuffix(path.Base(name), ".go"), 1))
	for _, group := range f.Comments {
		var words []word
		for _, c := range group.List {
			words = append(words, splitWords(c.Text, fset.Position(c.Pos()).Line)...)
		}
		found = append(found, l.check(name, words)...)
	}
	see := func(at token.Pos, text string) {
		found = append(found, l.check(name, splitWords(text, fset.Position(at).Line))...)
	}
	for _, id := range declared(f) {
		see(id.Pos(), id.Name)
	}
	for _, s := range stringsOf(f, strings.HasSuffix(name, "_test.go")) {
		if value, err := strconv.Unquote(s.Value); err == nil {
			if s.Value[0] != '`' {
				value = strings.ReplaceAll(value, "\n", " ") // A new line in the value is none in the file.
			}
			see(s.Pos(), value)
		}
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return lineOf(a) - lineOf(b) })
	return found, nil
}

func lineOf(f Finding) int {
	n, _ := strconv.Atoi(f.Where[strings.LastIndexByte(f.Where, ':')+1:]) // check writes a number.
	return n
}

// declared returns the names that a file declares. What it uses is declared elsewhere: here, or in a library that has its own words.
func declared(f *ast.File) (names []*ast.Ident) {
	add := func(all ...*ast.Ident) {
		for _, id := range all {
			if id != nil && id.Name != "_" {
				names = append(names, id)
			}
		}
	}
	expressions := func(tok token.Token, all ...ast.Expr) {
		if tok != token.DEFINE {
			return
		}
		for _, e := range all {
			if id, ok := e.(*ast.Ident); ok {
				add(id)
			}
		}
	}
	add(f.Name)
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add(n.Name)
		case *ast.TypeSpec:
			add(n.Name)
		case *ast.ValueSpec:
			add(n.Names...)
		case *ast.ImportSpec:
			add(n.Name)
		case *ast.Field:
			add(n.Names...)
		case *ast.LabeledStmt:
			add(n.Label)
		case *ast.AssignStmt:
			expressions(n.Tok, n.Lhs...)
		case *ast.RangeStmt:
			expressions(n.Tok, n.Key, n.Value)
		}
		return true
	})
	return names
}

// stringsOf returns the string literals of a file without import paths; of a test only log messages and keys.
func stringsOf(f *ast.File, test bool) (all []*ast.BasicLit) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.CallExpr:
			if s := logText(n); test && s != nil {
				all = append(all, s)
			}
		case *ast.BasicLit:
			if !test && n.Kind == token.STRING {
				all = append(all, n)
			}
		}
		return true
	})
	return all
}

// logMethods are the methods of slog.Logger that take a message.
var logMethods = map[string]bool{"Debug": true, "Info": true, "Warn": true, "Error": true}

var snakeCase = regexp.MustCompile(`^"[a-z0-9]+(_[a-z0-9]+)*"$`)

// logText returns the literal message of a log call or the literal key of a slog attribute; nil for other calls. A message is
// recognized by its form (snake_case), because t.Error takes a text, too.
func logText(call *ast.CallExpr) *ast.BasicLit {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return nil
	}
	text, ok := call.Args[0].(*ast.BasicLit)
	if !ok || text.Kind != token.STRING {
		return nil
	}
	if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "slog" || logMethods[sel.Sel.Name] && snakeCase.MatchString(text.Value) {
		return text
	}
	return nil
}

// Bounds of documents.
const (
	columnsMax     = 120   // BOUND: columns of a line; two documents fit beside each other on a screen.
	designWordsMax = 1_500 // BOUND: words of a DESIGN.md; what is longer is not read to its end.
)

// Widths reports the lines of documents that are longer than columnsMax.
func Widths(root string) ([]Finding, error) {
	return eachDocument(root, func(name string, text []byte) (found []Finding) {
		if copied(name) {
			return nil
		}
		n := 0
		for line := range bytes.Lines(text) {
			n++
			if columns := len([]rune(strings.TrimRight(string(line), "\r\n"))); columns > columnsMax {
				found = append(found, Finding{fmt.Sprintf("%s:%d", name, n), "line width", fmt.Sprintf("%d columns, want at most %d", columns, columnsMax)})
			}
		}
		return found
	})
}

// Designs reports every DESIGN.md that is too long, with one finding for each word above designWordsMax, so that a list of
// exceptions can count them.
func Designs(root string) ([]Finding, error) {
	return eachDocument(root, func(name string, text []byte) (found []Finding) {
		if path.Base(name) != "DESIGN.md" {
			return nil
		}
		count := len(bytes.Fields(text))
		for range max(0, count-designWordsMax) {
			found = append(found, Finding{name, "design length", fmt.Sprintf("%d words, want at most %d", count, designWordsMax)})
		}
		return found
	})
}

// testName matches the name of a test in a document, such as `TestModel`.
var testName = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z][A-Za-z0-9]*)`")

// testFunction matches the declaration of a test.
var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Za-z0-9]*)\(`)

// TestNames reports documents that name tests which do not exist. Records of the past may do so.
func TestNames(root string) ([]Finding, error) {
	files, err := tracked(root)
	if err != nil {
		return nil, err
	}
	exist := map[string]bool{}
	for _, name := range files {
		if !strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		for _, match := range testFunction.FindAllSubmatch(text, -1) {
			exist[string(match[1])] = true
		}
	}
	return eachDocument(root, func(name string, text []byte) (found []Finding) {
		if name == "CHANGELOG.md" || strings.HasPrefix(name, "bench/results/") {
			return nil
		}
		n := 0
		for line := range bytes.Lines(text) {
			n++
			for _, match := range testName.FindAllSubmatch(line, -1) {
				if !exist[string(match[1])] {
					found = append(found, Finding{fmt.Sprintf("%s:%d", name, n), "test name", fmt.Sprintf("no test is called %s", match[1])})
				}
			}
		}
		return found
	})
}

func eachDocument(root string, check func(name string, text []byte) []Finding) ([]Finding, error) {
	files, err := tracked(root)
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, name := range files {
		if path.Ext(name) != ".md" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // Deleted and not committed yet.
		}
		if err != nil {
			return nil, err
		}
		found = append(found, check(name, text)...)
	}
	return found, nil
}
