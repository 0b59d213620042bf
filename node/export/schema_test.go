package export

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestSchema compares the tables of SCHEMA.md with the rows. After a change that is meant, run it with -rewrite.
func TestSchema(t *testing.T) {
	text, err := os.ReadFile("SCHEMA.md")
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(text), "## Columns of journal\n")
	if !found {
		t.Fatal("SCHEMA.md has no tables")
	}
	want := head + table[JournalRow](Journal) + "\n" + table[ConversionRow](Conversions) + "\n" + table[RollupRow](Rollups) + "\n" +
		table[EventRow](Events) + "\n" + tableOf(reflect.TypeFor[EventItemRow](), "items of events")
	if f := flag.Lookup("rewrite"); f.Value.String() == "true" { // Package managetest, which other tests import, defines it.
		if err := os.WriteFile("SCHEMA.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Error("SCHEMA.md is not as the rows are; run the test with -rewrite and read the difference")
	}
	if version := fmt.Sprintf("schema version is %d.", SchemaVersion); !strings.Contains(head, version) {
		t.Errorf("SCHEMA.md does not say that the %s", version)
	}
}

// table lists the columns of a row. A column is named the same in both formats.
func table[R row](d Dataset) string { return tableOf(reflect.TypeFor[R](), string(d)) }

func tableOf(row reflect.Type, of string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Columns of %s\n", of)
	for f := range row.Fields() {
		name, how, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		kind := map[reflect.Kind]string{
			reflect.Int32: "integer, 32 bits", reflect.Int64: "integer", reflect.String: "text", reflect.Bool: "true or false",
			reflect.Slice: "list",
		}[f.Type.Kind()]
		if strings.HasPrefix(how, "timestamp") {
			kind = "time"
		}
		if name != f.Tag.Get("json") {
			name = "(two names)"
		}
		fmt.Fprintf(&b, "\n- `%s` (%s): %s", name, kind, f.Tag.Get("doc"))
	}
	return wrapped(b.String()) + "\n"
}

// wrapped breaks lines at 120 columns.
func wrapped(text string) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		for len(line) > 120 {
			at := strings.LastIndex(line[:121], " ")
			out, line = append(out, line[:at]), "  "+line[at+1:]
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// TestDue: a revision is due when the hour has its age.
func TestDue(t *testing.T) {
	hour := time.Date(2026, 3, 1, 5, 0, 0, 0, time.UTC)
	for age, want := range map[time.Duration]int{
		time.Hour - 1: 0, time.Hour: 1, 25*time.Hour - 1: 1, 25 * time.Hour: 2, 8 * day: 3, 40 * day: 4, 100 * day: 5, 182 * day: 6, 900 * day: 6,
	} {
		if got := due(hour, hour.Add(age)); got != want {
			t.Errorf("an hour that began %s ago has %d revisions, want %d", age, got, want)
		}
	}
	for _, through := range []time.Time{hour, hour.Add(90 * day), hour.Add(500*day + 7*time.Minute)} {
		at := newCursor(1, hour, through)
		for k, next := range at.Next {
			first := !next.After(hour) // There is no hour before.
			if k > 0 && (due(next, through) > k || !first && due(next.Add(-time.Hour), through) <= k) {
				t.Errorf("revision %d begins at %s, when everything until %s is complete", k+1, next, through)
			}
		}
	}
}
