package sinks

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestSchema compares the tables of SCHEMA.md with the messages. After a change that is meant, run it with -rewrite.
func TestSchema(t *testing.T) {
	text, err := os.ReadFile("SCHEMA.md")
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(text), "## Members of every message\n")
	if !found {
		t.Fatal("SCHEMA.md has no tables")
	}
	want := head + table[Head]("every message") + "\n" + table[LineMessage]("charges and reversals") + "\n" + table[ReversalDetails]("reversals alone") + "\n" +
		table[ConversionMessage]("conversions and returns") + "\n" + table[ReturnDetails]("returns alone")
	if f := flag.Lookup("rewrite"); f.Value.String() == "true" { // Package managetest, which other tests import, defines it.
		if err := os.WriteFile("SCHEMA.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Error("SCHEMA.md is not as the messages are; run the test with -rewrite and read the difference")
	}
	if version := fmt.Sprintf("schema version is %d.", SchemaVersion); !strings.Contains(head, version) {
		t.Errorf("SCHEMA.md does not say that the %s", version)
	}
}

// table lists the members of a message but for those of its head.
func table[M any](of string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Members of %s\n", of)
	whole := reflect.TypeFor[M]() == reflect.TypeFor[Head]()
	for _, f := range reflect.VisibleFields(reflect.TypeFor[M]()) {
		if f.Anonymous || !whole && inHead(f.Name) {
			continue
		}
		kind := map[reflect.Kind]string{
			reflect.Int32: "integer, 32 bits", reflect.Int64: "integer", reflect.String: "text", reflect.Bool: "true or false",
		}[f.Type.Kind()]
		if strings.Contains(f.Tag.Get("parquet"), "timestamp") {
			kind = "time"
		}
		fmt.Fprintf(&b, "\n- `%s` (%s): %s", f.Tag.Get("json"), kind, f.Tag.Get("doc"))
	}
	return wrapped(b.String()) + "\n"
}

func inHead(name string) bool {
	_, found := reflect.TypeFor[Head]().FieldByName(name)
	return found
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
