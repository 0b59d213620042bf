package main_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The scenarios of testdata/conformance/scenarios: what an operator changes, and who wins before and after it. Each
// runs against a node of its own, over HTTP only.
func TestConformanceScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/conformance/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			st := scenario{startNode(t), map[string]string{}, 0}
			for n, line := range strings.Split(string(text), "\n") {
				if line == "" || strings.HasPrefix(line, "#") {
					continue
				}
				at := file + ":" + strconv.Itoa(n+1)
				st.step(at, os.Expand(line, func(name string) string {
					value, known := st.names[name]
					if !known {
						t.Fatalf("%s: nothing is called %s", at, name)
					}
					return value
				}))
			}
			if st.auctions == 0 {
				t.Error("a scenario without an auction proves nothing")
			}
		})
	}
}

// scenario is one run. A line is one of
//
//	vendor ID MONEY                           a vendor with so much on its wallet, in major units
//	product ID VENDOR CATEGORIES MEMBERS      JSON strings with commas between, and further members with a comma in front
//	[NAME=PATH] STATUS METHOD PATH BODY       a management call; NAME stores the value at a path of its answer, a.0.b
//	fill SEGMENT ACTION USER USER ...         uploads users to a segment
//	sees USER TYPE MEMBERS                    an auction, and an impression of each winner by that user
//	clicks USER TYPE MEMBERS                  the same with clicks
//	times N LINE                              a line so many times
//	awaits TEXT                               the list of segments contains the text, soon
//	restart                                   the node is killed, and started again
//	WINNERS <- TYPE MEMBERS                   the ids of an auction's winners, - for none; TYPE is a type of auction
//
// and $NAME stands for the stored value.
type scenario struct {
	*testClient

	names    map[string]string
	auctions int
}

func (st *scenario) step(at, line string) {
	st.Helper()
	if winners, auction, ok := strings.Cut(line, " <- "); ok {
		kind, members, _ := strings.Cut(auction, " ")
		st.auctions++
		if got := st.winners(kind, members).list(); got != winners {
			st.Errorf("%s: %s won, want %s", at, got, winners)
		}
		return
	}
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "awaits":
		st.awaits(at, rest)
	case "restart":
		st.restart()
	case "times":
		count, again, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(count)
		if err != nil {
			st.Fatalf("%s: %v", at, err)
		}
		for range n {
			st.step(at, again)
		}
	case "vendor":
		id, money, _ := strings.Cut(rest, " ")
		amount, err := strconv.ParseFloat(money, 64)
		if err != nil {
			st.Fatalf("%s: %v", at, err)
		}
		st.vendor(id, amount)
	case "product":
		f := strings.SplitN(rest, " ", 4)
		if len(f) < 4 {
			st.Fatalf("%s: %q", at, line)
		}
		st.product(f[0], f[1], strings.Trim(f[2], "-"), strings.Trim(f[3], "-"))
	case "sees", "clicks":
		f := strings.SplitN(rest, " ", 3)
		st.reportEvents(map[string]string{"sees": "impressions", "clicks": "clicks"}[verb], f[0], st.winners(f[1], f[2]))
	case "fill":
		f := strings.Fields(rest)
		st.upload(f[0], f[1], strings.Join(f[2:], "\n"))
	default:
		st.call(at, verb, rest)
	}
}

// awaits asks for the segments until two answers in a row contain a text, because users join dynamic segments after a
// moment. The second answer waits for what the first contains to be applied, so that the next auction sees it.
func (st *scenario) awaits(at, text string) {
	st.Helper()
	began := time.Now()
	for found := 0; found < 2; time.Sleep(20 * time.Millisecond) {
		r := st.do("GET", st.node.ManageURL+"/public/v1/segment-service/segments", st.node.Keys.ManagementKey, "")
		if strings.Contains(string(r.body), text) {
			found++
			continue
		}
		if found = 0; time.Since(began) > waitMax {
			st.Fatalf("%s: not within %s: %d %s", at, waitMax, r.status, r.body)
		}
	}
}

// restart kills the node and starts it again.
func (st *scenario) restart() {
	st.Helper()
	if err := st.node.Kill(); err != nil {
		st.Fatal(err)
	}
	if err := st.node.Start(); err != nil {
		st.Fatal(err)
	}
	if err := st.node.WaitReady(st.Context()); err != nil {
		st.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
}

// call makes a management call and may store a value of its answer under a name.
func (st *scenario) call(at, verb, rest string) {
	st.Helper()
	name, where, keeps := strings.Cut(verb, "=")
	if keeps {
		verb, rest, _ = strings.Cut(rest, " ")
	}
	status, err := strconv.Atoi(verb)
	if err != nil {
		st.Fatalf("%s: %q is no step", at, verb)
	}
	f := strings.SplitN(rest, " ", 3)
	body := ""
	if len(f) == 3 {
		body = f[2]
	}
	r := st.do(f[0], st.node.ManageURL+"/public/v1/"+f[1], st.node.Keys.ManagementKey, body, "Content-Type", "application/json")
	if r.status != status {
		st.Fatalf("%s: %d %s", at, r.status, r.body)
	}
	if keeps {
		st.names[name] = st.pick(at, r, where)
	}
}

// pick returns the text at a path of an answer.
func (st *scenario) pick(at string, r reply, path string) string {
	st.Helper()
	var v any
	st.decode(r, &v)
	for step := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[step]
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n >= len(x) {
				st.Fatalf("%s: no %s in %s", at, path, r.body)
			}
			v = x[n]
		}
	}
	text, ok := v.(string)
	if !ok {
		st.Fatalf("%s: no text at %s of %s", at, path, r.body)
	}
	return text
}

// reportEvents reports an event of a user on every winner.
func (st *scenario) reportEvents(kind, user string, r result) {
	st.Helper()
	var events []string
	for _, w := range r.Winners {
		e := strings.Replace(touch(fmt.Sprintf("%s-%d", user, unique.Add(1)), w.ResolvedBidID), `"opaqueUserId":"u"`, `"opaqueUserId":`+strconv.Quote(user), 1)
		events = append(events, e)
	}
	if len(events) == 0 {
		st.Fatalf("%s has nothing to report on", user)
	}
	st.events(200, `{"`+kind+`":[`+strings.Join(events, ",")+`]}`)
}

// list returns the ids of the winners, or "-" without any.
func (r result) list() string { return cmp.Or(strings.Join(r.ids(), " "), "-") }

// winners runs one auction on both listeners, which must agree, and returns its result.
func (st *scenario) winners(kind, members string) (said result) {
	st.Helper()
	path, own := "/v2/auctions", `"type":"`+kind+`",`
	switch kind {
	case "brand":
		path, own = "/v2/auctions/sponsored-brand", ""
	case "hotels", "flights":
		path = "/v2/auctions/travel"
	}
	for i, r := range st.v2(path, `{"auctions":[{`+own+members+`}]}`) {
		var answer struct{ Results []result }
		st.decode(r, &answer)
		if r.status != 201 || len(answer.Results) != 1 {
			st.Fatalf("%s: %d %s", members, r.status, r.body)
		}
		if i > 0 && answer.Results[0].list() != said.list() {
			st.Errorf("%s: the listeners differ: %s, %s", members, said.list(), answer.Results[0].list())
		}
		said = answer.Results[0]
	}
	return said
}

// upload sends users to a segment as a form.
func (s *testClient) upload(segment, action, users string) {
	s.Helper()
	const boundary = "story"
	form := "--" + boundary + "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"users.txt\"\r\n\r\n" + users + "\r\n--" + boundary + "--\r\n"
	r := s.do("POST", s.node.ManageURL+"/public/v1/segment-service/segments/"+url.PathEscape(segment)+"/upload?action="+action,
		s.node.Keys.ManagementKey, form, "Content-Type", "multipart/form-data; boundary="+boundary)
	if r.status != 200 || !json.Valid(r.body) {
		s.Fatalf("users of %s: %d %s", segment, r.status, r.body)
	}
}
