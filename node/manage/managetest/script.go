package managetest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Rewrite accepts the present answers as expected ones: go test ./node/manage/... -rewrite, then read the diff.
var Rewrite = flag.Bool("rewrite", false, "accept the answers as they are now")

// RunScripts runs every testdata/*.txt of the package, each in its own environment. A script is a list of exchanges between
// lines of "---":
//
//	# Comments say what is shown.
//	POST /public/v1/…?vendor_id=v1
//	key: management
//	{"name": "…"}
//
//	201
//	{"campaignId": "<id-1>"}
//
// Lines before the body are headers; "key" names a key of the environment, and "none" sends none. With "show: campaignId budget" the
// objects of the answer that have one of these members are compared in these members only: what a campaign answers is compared
// completely in campaign/testdata/exemplary-campaign.txt, and elsewhere in what the script is about. Values that change from run to
// run are written as <id-1>, <key-1>, <page-1> in answers, and later requests may use them. A request "PASS 2s" moves the
// clock, a request "WORK" does the due background work. Answers show the status, the body, and the headers that are not common to all
// answers. Line ends of CSV are shown as line feeds.
func RunScripts(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { RunScript(t, New(t), file) })
	}
}

// RunScript runs one script in an environment.
func RunScript(t *testing.T, w *Environment, file string) {
	t.Helper()
	RunScriptWith(t, w, file, nil)
}

// Checker checks the exchanges of a script. Description is one.
type Checker interface {
	// Check returns what is wrong with an exchange; sent is the body of the request.
	Check(r *http.Request, sent string, rec *httptest.ResponseRecorder) error
}

// RunScriptWith runs a script and has its exchanges checked, unless d is nil.
func RunScriptWith(t *testing.T, w *Environment, file string, d Checker) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := script{environment: w, described: d, labels: map[string]string{}}
	var got []string
	for exchange := range strings.SplitSeq(string(text), "\n---\n") {
		got = append(got, s.exchange(t, exchange))
	}
	want := strings.Join(got, "\n---\n")
	if want == string(text) {
		return
	}
	if *Rewrite {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s differs; answered now:\n%s", file, firstDifference(string(text), want))
}

func firstDifference(want, got string) string {
	wants, gots := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range gots {
		if i >= len(wants) || wants[i] != gots[i] {
			from, to := max(0, i-6), min(len(gots), i+12)
			return fmt.Sprintf("line %d:\n%s", i+1, strings.Join(gots[from:to], "\n"))
		}
	}
	return "the answers end earlier"
}

// script is the state of one run: the values of the labels in earlier answers.
type script struct {
	environment *Environment
	described   Checker           // If nil, exchanges are not checked.
	labels      map[string]string // Label to value.
	counts      map[string]int
}

// exchange runs one exchange and returns it with its present answer.
func (s *script) exchange(t *testing.T, text string) string {
	t.Helper()
	request, _, _ := strings.Cut(strings.TrimPrefix(text, "\n"), "\n\n")
	request = strings.TrimRight(request, "\n")
	lines := strings.Split(request, "\n")
	for len(lines) > 0 && strings.HasPrefix(lines[0], "#") {
		lines = lines[1:]
	}
	if len(lines) == 0 {
		t.Fatalf("an exchange without a request: %q", text)
	}
	if d, ok := strings.CutPrefix(lines[0], "PASS "); ok {
		duration, err := time.ParseDuration(d)
		if err != nil {
			t.Fatal(err)
		}
		s.environment.Advance(duration)
		return request + "\n"
	}
	if lines[0] == "WORK" {
		s.environment.Work(t)
		return request + "\n"
	}
	var show []string
	lines = slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		names, found := strings.CutPrefix(line, "show: ")
		if found {
			show = strings.Fields(names)
		}
		return found
	})
	return request + "\n\n" + s.answer(t, s.send(t, lines), show)
}

func (s *script) send(t *testing.T, lines []string) *httptest.ResponseRecorder {
	t.Helper()
	method, target, ok := strings.Cut(lines[0], " ")
	if !ok {
		t.Fatalf("no request line: %q", lines[0])
	}
	key, header := "management", http.Header{}
	if strings.HasPrefix(target, "/v2/") {
		key = "auction"
	}
	var body []string
	for i, line := range lines[1:] {
		name, value, isHeader := strings.Cut(line, ": ")
		if !isHeader || strings.ContainsAny(name, "{[\" ") {
			body = lines[1+i:]
			break
		}
		if name == "key" {
			key = value
			continue
		}
		header.Add(name, s.fill(value))
	}
	sent := s.fill(strings.Join(body, "\n"))
	r := httptest.NewRequest(method, s.fill(target), strings.NewReader(sent))
	r.Header = header
	if key != "none" && header.Get("Authorization") == "" {
		text, known := s.environment.Keys[key]
		if !known {
			text = s.fill(key)
		}
		header.Set("Authorization", "Bearer "+text)
	}
	rec := httptest.NewRecorder()
	_ = s.environment.Commands() // Those of the exchange are what a Checker sees.
	s.environment.ServeHTTP(rec, r)
	if s.described != nil {
		if err := s.described.Check(r, sent, rec); err != nil {
			t.Error(err)
		}
	}
	return rec
}

// fill replaces labels by values.
func (s *script) fill(text string) string {
	for _, label := range slices.Sorted(maps.Keys(s.labels)) {
		text = strings.ReplaceAll(text, label, s.labels[label])
	}
	return text
}

// commonHeaders are in every answer of the management API. TestRefusals checks them, so scripts do not repeat
// them.
var commonHeaders = []string{
	"Cache-Control", "Content-Length", "Content-Type", "X-Content-Type-Options", "X-Ratelimit-Limit", "X-Ratelimit-Remaining",
	"X-Ratelimit-Reset", "X-Request-Id",
}

func (s *script) answer(t *testing.T, rec *httptest.ResponseRecorder, show []string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", rec.Code)
	for _, name := range slices.Sorted(maps.Keys(rec.Header())) {
		if !slices.Contains(commonHeaders, name) {
			b.WriteString(s.label(fmt.Sprintf("%s: %s\n", name, strings.Join(rec.Header()[name], ", "))))
		}
	}
	if strings.HasPrefix(rec.Header().Get("Content-Type"), "text/csv") {
		fmt.Fprintf(&b, "Content-Type: %s\n", rec.Header().Get("Content-Type"))
		b.WriteString(s.label(strings.ReplaceAll(rec.Body.String(), "\r\n", "\n")))
		return b.String()
	}
	if rec.Body.Len() > 0 {
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, rec.Body.Bytes(), "", "  "); err != nil {
			t.Fatalf("the body is not JSON: %q", rec.Body)
		}
		text := s.label(pretty.String()) // Labels have the same numbers, whatever is shown.
		if len(show) > 0 {
			pretty.Reset()
			if err := json.Indent(&pretty, reduce([]byte(text), show), "", "  "); err != nil {
				t.Fatal(err)
			}
			text = pretty.String()
		}
		b.WriteString(text)
		b.WriteString("\n")
	}
	return b.String()
}

// reduce leaves only the members named in show in each object that has at least one of them. REQUIRES: value is JSON.
func reduce(value []byte, show []string) []byte {
	if value[0] != '{' && value[0] != '[' {
		return value
	}
	d := json.NewDecoder(bytes.NewReader(value))
	_, _ = d.Token() // The bracket.
	var all, shown [][]byte
	for d.More() {
		var name json.Token
		var member json.RawMessage
		if value[0] == '{' {
			name, _ = d.Token()
		}
		_ = d.Decode(&member) // It is JSON.
		member = reduce(member, show)
		if value[0] == '{' {
			member = fmt.Appendf(nil, "%q: %s", name, member)
		}
		all = append(all, member)
		if key, isKey := name.(string); isKey && slices.Contains(show, key) {
			shown = append(shown, member)
		}
	}
	if len(shown) > 0 {
		all = shown
	}
	return slices.Concat(value[:1], bytes.Join(all, []byte(",")), value[len(value)-1:])
}

// changing finds values that are different in every run. word is the name of their labels.
var changing = []struct {
	word string
	re   *regexp.Regexp
}{
	{"key", regexp.MustCompile(`gavel_(?:auc|mgt)_\w+`)},
	{"jwt", regexp.MustCompile(`"authToken": "([\w.-]+)"`)},
	{"keyid", regexp.MustCompile(`"keyId": "(\w{8})"`)},
	{"key-id", regexp.MustCompile(`key:(\w{8})\b`)},
	{"token", regexp.MustCompile(`#token=[^.]*\.(\w{26})"`)},
	{"address", regexp.MustCompile(`\ba[0-9a-f]{4}-[a-z2-7]{26}`)},
	{"policy", regexp.MustCompile(`(?:"policy": "|policy=)([\w-]+)`)},
	{"signature", regexp.MustCompile(`(?:signature": "|signature=)([0-9a-f]{64})`)},
	{"page", regexp.MustCompile(`(?:"nextPage": "|next_page=)([\w-]+)`)},
	{"bid", regexp.MustCompile(`"resolvedBidId": "([\w.~-]+)"`)},
	{"id", regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[78][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)},
}

// label replaces values that change by labels.
func (s *script) label(text string) string {
	if s.counts == nil {
		s.counts = map[string]int{}
	}
	for _, c := range changing {
		for _, match := range c.re.FindAllStringSubmatch(text, -1) {
			value := match[len(match)-1]
			text = strings.ReplaceAll(text, value, s.labelOf(c.word, value))
		}
	}
	return text
}

func (s *script) labelOf(word, value string) string {
	for label, known := range s.labels {
		if known == value {
			return label
		}
	}
	s.counts[word]++
	label := fmt.Sprintf("<%s-%d>", word, s.counts[word])
	s.labels[label] = value
	return label
}
