package main_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"html"
	"os"
	"slices"
	"strings"
	"testing"
)

// The rules that all management operations share, tested on two of them.
func TestConformanceManagementBodies(t *testing.T) {
	s := startNode(t)
	const good = `{"vendors":[{"id":"v1","name":"V"}]}`
	zipped := func(text string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write([]byte(text)) // Into memory.
		_ = w.Close()
		return b.String()
	}
	for name, row := range map[string]struct {
		status, detail int // detail is the number of violations.
		code, body     string
		header         []string
	}{
		"good":                   {200, 0, "", good, nil},
		"no content type":        {200, 0, "", good, []string{"Content-Type", ""}},
		"a vendor's json":        {200, 0, "", good, []string{"Content-Type", "application/vnd.x+json; charset=utf-8"}},
		"upper case":             {200, 0, "", good, []string{"Content-Type", "Application/JSON"}},
		"text":                   {415, 0, "unsupported_media_type", good, []string{"Content-Type", "text/plain"}},
		"a form":                 {415, 0, "unsupported_media_type", good, []string{"Content-Type", "application/x-www-form-urlencoded"}},
		"gzip":                   {200, 0, "", zipped(good), []string{"Content-Encoding", "gzip"}},
		"gzip that is none":      {400, 0, "bad_request", good, []string{"Content-Encoding", "gzip"}},
		"a small bomb":           {413, 0, "payload_too_large", zipped(strings.Repeat(" ", 9<<20) + good), []string{"Content-Encoding", "gzip"}},
		"brotli":                 {415, 0, "unsupported_media_type", good, []string{"Content-Encoding", "br"}},
		"8 MiB":                  {200, 0, "", strings.Repeat(" ", 8<<20-len(good)) + good, nil},
		"a byte more":            {413, 0, "payload_too_large", strings.Repeat(" ", 8<<20-len(good)+1) + good, nil},
		"no body":                {400, 0, "empty_request", "", nil},
		"blanks":                 {400, 0, "empty_request", " \n", nil},
		"broken":                 {400, 0, "invalid_json", good[:20], nil},
		"more behind":            {400, 0, "invalid_json", good + "{}", nil},
		"not UTF-8":              {400, 0, "invalid_json", strings.Replace(good, "V", "\xff", 1), nil},
		"nested 32":              {200, 0, "", good[:len(good)-1] + `,"x":` + strings.Repeat("[", 31) + strings.Repeat("]", 31) + "}", nil},
		"nested 33":              {400, 0, "bad_request", good[:len(good)-1] + `,"x":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + "}", nil},
		"a member twice":         {400, 0, "bad_request", `{"vendors":[{"id":"v1","id":"v2","name":"V"}]}`, nil},
		"twice, in other case":   {400, 0, "bad_request", `{"vendors":[{"id":"v1","ID":"v2","name":"V"}]}`, nil},
		"an unknown one twice":   {200, 0, "", `{"x":1,"x":2,"vendors":[{"id":"v1","name":"V","y":1,"y":1}]}`, nil},
		"in other case":          {422, 1, "", `{"Vendors":[{"id":"v1","name":"V"}]}`, nil},
		"an array":               {422, 1, "", `[]`, nil},
		"null":                   {422, 1, "", `null`, nil},
		"wrong types everywhere": {422, 3, "", `{"vendors":[{"id":1,"name":[]},{"id":"v2","name":null}]}`, nil},
		"60 violations":          {422, 50, "", `{"vendors":[` + strings.Repeat(`{"id":"","name":"V"},`, 59) + `{"id":"","name":"V"}]}`, nil},
		"all or nothing":         {422, 1, "", `{"vendors":[{"id":"nobody","name":"V"},{"id":"","name":"V"}]}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.inSubtest(t)
			header := slices.Concat([]string{"Content-Type", "application/json"}, row.header)
			r := s.do("PUT", s.node.ManageURL+"/public/v1/catalog-search-service/catalogs/vendors", s.node.Keys.ManagementKey, row.body, header...)
			var answer struct {
				Detail []struct {
					Loc       []string
					Msg, Type string
				}
			}
			s.decode(r, &answer)
			if r.status != row.status || r.errCode() != row.code || len(answer.Detail) != row.detail {
				t.Errorf("%d %.300s, want %d %s with %d violations", r.status, r.body, row.status, row.code, row.detail)
			}
			for _, d := range answer.Detail {
				if len(d.Loc) == 0 || d.Loc[0] != "body" || d.Msg == "" || d.Type == "" {
					t.Errorf("violation %+v", d)
				}
			}
			if row.code != "" {
				s.errorObject(r)
			}
		})
	}
	s.manage(404, "GET", "catalog-search-service/catalogs/vendors/nobody", "")
}

// A POST with an Idempotency-Key is applied once.
func TestConformanceIdempotencyKey(t *testing.T) {
	s := startNode(t)
	s.vendor("v1", 10)
	s.product("p1", "v1", "", "")
	post := func(path, body, key string) reply {
		return s.do("POST", s.node.ManageURL+"/public/v1/"+path, s.node.Keys.ManagementKey, body, "Idempotency-Key", key)
	}
	const campaigns = "campaign-service/campaigns?vendor_id=v1"
	body := `{"name":"C","campaignType":"manual","bids":[` + bid("p1", 5) + `]}`
	first, again := post(campaigns, body, "k-1"), post(campaigns, body, "k-1")
	if first.status != 201 || again.status != 201 || !bytes.Equal(first.body, again.body) {
		t.Errorf("%d %s, again %d %s", first.status, first.body, again.status, again.body)
	}
	if r := post(campaigns, strings.Replace(body, `"C"`, `"D"`, 1), "k-1"); r.status != 409 || r.errCode() != "invalid_operation" {
		t.Errorf("another body: %d %s", r.status, r.body)
	}
	if r := post(campaigns, body, strings.Repeat("k", 64)); r.status != 201 || r.member("campaignId") == first.member("campaignId") {
		t.Errorf("another key: %d %s", r.status, r.body)
	}
	if r := post(campaigns, body, strings.Repeat("k", 65)); r.status != 400 || r.errCode() != "bad_request" { // A 422 can name no header.
		t.Errorf("a key of 65 characters: %d %s", r.status, r.body)
	}
	for range 3 {
		if r := post("billing-service/vendors/v1/balance", `{"balance":5}`, "deposit"); r.status != 200 {
			t.Errorf("deposit: %d %s", r.status, r.body)
		}
	}
	if r := s.manage(200, "GET", "billing-service/vendors/v1/balance", ""); r.member("balance") != 15.0 {
		t.Errorf("after one deposit of 5 upon 10: %s", r.body)
	}
}

// Pages follow each other without gap or repeat, and a cursor is valid only for its operation and filter.
func TestConformancePages(t *testing.T) {
	s := startNode(t)
	s.vendor("v1", 0)
	var products []string
	for i := range 7 {
		products = append(products, `{"id":"p`+string(rune('a'+i))+`","name":"P","vendors":["v1"],"categories":[]}`)
	}
	const path = "catalog-search-service/catalogs/products"
	s.manage(200, "PUT", path, `{"products":[`+strings.Join(products, ",")+`]}`)
	var seen []string
	cursor := ""
	for {
		var page struct {
			Response []struct{ ID string }
			HasMore  *bool
			NextPage *string
		}
		r := s.manage(200, "GET", path+"?limit=3&next_page="+cursor, "")
		s.decode(r, &page)
		for _, p := range page.Response {
			seen = append(seen, p.ID)
		}
		if page.HasMore == nil || *page.HasMore != (page.NextPage != nil) {
			t.Fatalf("hasMore and nextPage: %s", r.body)
		}
		if page.NextPage == nil {
			break
		}
		if cursor = *page.NextPage; cursor == "" || len(cursor) > 512 || strings.ContainsAny(cursor, "+/=&?% ") {
			t.Fatalf("cursor %q", cursor)
		}
		for _, foreign := range []string{
			"catalog-search-service/catalogs/vendors?next_page=" + cursor, path + "?vendor_id=v1&next_page=" + cursor,
			path + "?next_page=" + cursor + "x", path + "?next_page=" + cursor[1:], path + "?next_page=x",
		} {
			var answer struct{ Detail []struct{ Loc []string } }
			if s.decode(s.manage(422, "GET", foreign, ""), &answer); len(answer.Detail) != 1 || !slices.Equal(answer.Detail[0].Loc, []string{"query", "next_page"}) {
				t.Errorf("%s: %+v", foreign, answer)
			}
		}
	}
	slices.Sort(seen)
	if got := strings.Join(seen, " "); got != "pa pb pc pd pe pf pg" {
		t.Errorf("the pages held %s", got)
	}
	for _, limit := range []string{"0", "101", "-1", "x", "1.0", "99999999999999999999"} {
		var answer struct{ Detail []json.RawMessage }
		if s.decode(s.manage(422, "GET", path+"?limit="+limit, ""), &answer); len(answer.Detail) != 1 {
			t.Errorf("limit %s: %+v", limit, answer)
		}
	}
}

// The operator's manual is in the binary, so that it is at hand on a node without internet.
func TestConformanceRunbook(t *testing.T) {
	manual, err := os.ReadFile("operator/RUNBOOK.md")
	if err != nil {
		t.Fatal(err)
	}
	s := startNode(t)
	r := s.do("GET", s.node.ManageURL+"/docs/runbook", "", "")
	if served := html.UnescapeString(string(r.body)); r.status != 200 || !strings.Contains(served, string(manual)) {
		t.Errorf("GET /docs/runbook: %d, without the text of operator/RUNBOOK.md: %.300s", r.status, served)
	}
}
