package jobs

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// all reads a whole text as rows of fields, and marks malformed rows.
func all(t testing.TB, in io.Reader) (out [][]string, broken []bool, at int64) {
	t.Helper()
	r := newRows(in, 0)
	for {
		var row []string
		blank, err := r.row(func(_ int, field []byte, long bool) {
			if long {
				field = append(slices.Clone(field), "…"...)
			}
			row = append(row, string(field))
		})
		if errors.Is(err, io.EOF) {
			return out, broken, r.at
		}
		if err != nil {
			t.Fatal(err)
		}
		if !blank {
			out, broken = append(out, row), append(broken, r.broken)
		}
	}
}

func TestRows(t *testing.T) {
	long := strings.Repeat("x", fieldMax)
	for _, c := range []struct {
		text   string
		want   string // Fields joined by |, rows by ;.
		broken string
	}{
		{"", "", ""},
		{"\n\r\n\n", "", ""},
		{"a,b\nc,d\n", "a|b;c|d", "  "},
		{"a,b\r\nc,d", "a|b;c|d", "  "},
		{"a,\n,b\n,", "a|;|b;|", "   "},
		{`"a","b,c"` + "\n" + `"d ""e""","f` + "\n" + `g"`, "a|b,c;d \"e\"|f\ng", "  "},
		{`"a"` + "\r\n" + `b`, "a;b", "  "},
		{`a"b,c`, `a"b|c`, "x"},
		{`"a"b,c` + "\nd", `ab,c` + "\nd", "x"},
		{`"never closed` + "\na,b\n", "never closed\na,b\n", "x"},
		{long + "," + long + "x", long + "|" + long + "…", " "},
		{`"` + long + `xx"`, long + "…", " "},
		{"a\rb", "a\rb", " "},
		{`""`, "", " "}, // An empty field in quotes is a row.
		{`""` + "\n\n" + `""` + "\r\n", ";", "  "},
	} {
		rows, broken, at := all(t, strings.NewReader(c.text))
		var parts []string
		var marks strings.Builder
		for i, row := range rows {
			parts = append(parts, strings.Join(row, "|"))
			marks.WriteByte(map[bool]byte{true: 'x', false: ' '}[broken[i]])
		}
		if got := strings.Join(parts, ";"); got != c.want || marks.String() != c.broken || at != int64(len(c.text)) {
			t.Errorf("%q: %q broken %q at %d; want %q broken %q", c.text, got, marks.String(), at, c.want, c.broken)
		}
	}
	if _, err := newRows(iotest.ErrReader(errors.New("disk")), 0).row(func(int, []byte, bool) {}); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a broken reader: %v", err)
	}
}

// FuzzRows compares with encoding/csv on inputs that it accepts. It differs in one thing: a carriage return before a line feed
// inside of quotes is data here, and a bare one at the end of a file is data here.
func FuzzRows(f *testing.F) {
	for _, seed := range []string{"a,b\nc,d\n", `"a","b""c"` + "\r\n\r\nd", "x,\"y\nz\"\n,", "\"", "a\"b", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rows, broken, at := all(t, strings.NewReader(text))
		if at != int64(len(text)) {
			t.Fatalf("%d of %d bytes were read", at, len(text))
		}
		r := csv.NewReader(strings.NewReader(text))
		r.FieldsPerRecord = -1
		want, err := r.ReadAll()
		if err != nil || strings.Contains(text, "\r") || longest(want) > fieldMax {
			return
		}
		if slices.Contains(broken, true) || !slices.EqualFunc(rows, want, slices.Equal[[]string]) {
			t.Errorf("%q: %q broken %v, want %q", text, rows, broken, want)
		}
	})
}

func longest(rows [][]string) (n int) {
	for _, row := range rows {
		for _, field := range row {
			n = max(n, len(field))
		}
	}
	return n
}

func TestHeader(t *testing.T) {
	for text, want := range map[string]map[int]int{
		"hashed_email": {0: 0},
		"\xef\xbb\xbfhashed_phone,x,hashed_email\r\n": {0: 1, 2: 0},
		"\" hashed_mobile_device_id \",y":             {0: 4},
	} {
		at, columns, err := newRows(strings.NewReader(text), 0).header()
		if err != nil || len(at) != len(want) || columns != strings.Count(text, ",")+1 {
			t.Errorf("%q: %v %d %v", text, at, columns, err)
		}
		for column, known := range want {
			if got, ok := at[column]; !ok || got != known {
				t.Errorf("%q: column %d is %d", text, column, got)
			}
		}
	}
	for _, text := range []string{"", "\n", "email", "HASHED_EMAIL", "hashed_email,hashed_email", "hashed_email,\"x", strings.Repeat("x,", columnsMax) + "hashed_email"} {
		if at, _, err := newRows(strings.NewReader(text), 0).header(); err == nil {
			t.Errorf("%.30q: %v", text, at)
		}
	}
}

// TestAcceptRows: which rows of a list are accepted, and that a step may begin between any two rows.
func TestAcceptRows(t *testing.T) {
	upper, lower := strings.Repeat("AB", 32), strings.Repeat("ab", 32)
	text := "hashed_phone,note,hashed_email\n" +
		upper + ",x,\n" + // Good, in lower case.
		",," + lower + "\n" + // Good.
		",only a note,\n" + // No value.
		upper + ",x\n" + // A column too few.
		lower + ",x," + lower[1:] + "\n" + // One bad value.
		lower + ",x," + lower + "0\n" +
		strings.Repeat("g", 64) + ",,\n" +
		"\n" + // Blank: no row.
		`"` + lower + `","a` + "\n" + `b",` + lower
	want := "," + lower + ",,,\n" + lower + ",,,,\n" + lower + "," + lower + ",,,\n"
	for step := int64(1); step < 10; step++ {
		var got bytes.Buffer
		var p part
		for !p.end {
			r := newRows(strings.NewReader(text), 0)
			at, columns, err := r.header()
			if err != nil {
				t.Fatal(err)
			}
			if p.Offset > 0 {
				r = newRows(strings.NewReader(text[p.Offset:]), p.Offset)
			}
			if err := acceptRows(r, &got, at, columns, step, &p); err != nil {
				t.Fatal(err)
			}
		}
		if got.String() != want || p.Rows != 8 || p.Good != 3 || p.Bad != 5 {
			t.Errorf("steps of %d: %d rows, %d good, %d bad\n%s", step, p.Rows, p.Good, p.Bad, got.String())
		}
	}
	var p part
	p.Rows = rowsMax - 1
	r := newRows(strings.NewReader("hashed_email\n"+lower+"\n"), 0)
	at, columns, _ := r.header()
	if err := acceptRows(r, io.Discard, at, columns, 10, &p); err != nil || p.Rows != rowsMax {
		t.Errorf("the last row: %v", err)
	}
	r = newRows(strings.NewReader(lower), 0)
	if err := acceptRows(r, io.Discard, at, columns, 10, &p); err == nil {
		t.Error("one row too many passes")
	}
}

// TestHostileField: a field of 30 MiB without an end is one rejected row, in constant memory.
func TestHostileField(t *testing.T) {
	in := io.MultiReader(strings.NewReader(`"`), io.LimitReader(letters{}, 30<<20))
	r := newRows(in, 0)
	n := 0
	if _, err := r.row(func(_ int, field []byte, long bool) { n = cap(field) }); err != nil || !r.broken || n != fieldMax {
		t.Errorf("%v, broken %v, field of %d", err, r.broken, n)
	}
}

type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
