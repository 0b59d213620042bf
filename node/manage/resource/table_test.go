package resource

import (
	"encoding/csv"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

type part struct {
	Total   int64  `json:"total"`
	Decimal string `json:"decimal" csv:"number"`
}

type common struct {
	Part part `json:"part"`
}

type line struct {
	ID string `json:"id"`
	common
	Name  *string          `json:"name"`
	Ratio *float64         `json:"ratio,omitempty"`
	More  *part            `json:"more"`
	Count map[string]int64 `json:"count"`
	At    Time             `json:"at"`
	Days  int              `json:"days"`
	Share *uint8           `json:"share"`
	Cut   bool             `json:"cut"`
}

func csvOf(rows ...line) string {
	t := Table{Rows: rows}
	return string(t.csv())
}

const lineHeader = "id,part.total,part.decimal,name,ratio,more.total,more.decimal,count,at,days,share,cut\r\n"

// TestCSV: columns are named like paths in JSON; what is null in JSON is empty.
func TestCSV(t *testing.T) {
	f := func(row line, want string) {
		t.Helper()
		if got := csvOf(row); got != lineHeader+want+"\r\n" {
			t.Errorf("got %q, want the line %q", got, want)
		}
	}
	f(line{}, ",0,,,,,,,1970-01-01T00:00:00.000Z,0,,false")
	f(line{
		ID: "a", common: common{part{-5, "-0.25"}}, Name: new("b"), Ratio: new(0.000001), More: &part{7, "7"},
		Count: map[string]int64{"z": 1, "=y": 2}, At: 1_500,
		Days: -3, Share: new(uint8(255)), Cut: true,
	}, `a,-5,-0.25,b,0.000001,7,7,"{""=y"":2,""z"":1}",1970-01-01T00:00:01.500Z,-3,255,true`)
	if got := csvOf(); got != lineHeader {
		t.Errorf("without rows: %q", got)
	}
}

// TestHostileText: text never becomes a formula, never ends its cell, and is read back as it was, but for the apostrophe.
func TestHostileText(t *testing.T) {
	for text, want := range map[string]string{
		"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@A1": "'@A1", "\t=1": "'\t=1", "\r=1": "'\r=1",
		`=HYPERLINK("http://x","y")`: `'=HYPERLINK("http://x","y")`,
		"a=1":                        "a=1", "1-1": "1-1", `a","=1`: `a","=1`, "a\n=1,b": "a\n=1,b", "a\rb": "a\rb", `"`: `"`, "ä=": "ä=",
	} {
		r := csv.NewReader(strings.NewReader(csvOf(line{ID: text}, line{ID: "last", Name: &text})))
		all, err := r.ReadAll()
		if err != nil || len(all) != 3 || all[1][0] != want || all[2][0] != "last" || all[2][3] != want {
			t.Errorf("%q is read as %q, %v", text, all, err)
		}
	}
}

// TestWantsCSV: the parameter decides; without one text/csv has to be named and preferred.
func TestWantsCSV(t *testing.T) {
	f := func(query string, want bool, accept ...string) {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, "/"+query, nil)
		r.Header["Accept"] = accept
		if wantsCSV(r) != want {
			t.Errorf("query %q, Accept %q: CSV is %v", query, accept, !want)
		}
	}
	f("", false)
	f("", false, "")
	f("", false, "*/*")
	f("", false, "text/*")
	f("", true, "text/csv")
	f("", true, "Text/CSV; charset=utf-8")
	f("", true, "text/csv, */*")
	f("", true, "*/*;q=0.1", "text/csv;q=0.2")
	f("", false, "text/csv;q=0")
	f("", false, "text/csv, application/json")
	f("", false, "text/csv;q=0.5, application/json")
	f("", true, "application/json;q=0.5, text/csv;q=0.6")
	f("", false, "text/csv2")
	f("", false, ";;,=")
	f("?format=csv", true, "application/json")
	f("?format=json", false, "text/csv")
	f("?format=", true, "text/csv")
}
