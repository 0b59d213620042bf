package importer

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"
)

// byteOrderMark begins the UTF-8 files of some spreadsheets.
var byteOrderMark = []byte("\ufeff")

// csvRows reads rows of CSV.
type csvRows struct {
	in      *bounded
	r       *csv.Reader
	columns []*column
	start   int64 // Offset in the file at which r began.
	lines   int64 // Line ends before start.
}

// openCSV reads the header, which names the columns, and continues at the offset; 0 is the row after the header.
func openCSV(f *os.File, t *table, offset, lines int64) (rowReader, error) {
	c := &csvRows{}
	mark := make([]byte, len(byteOrderMark))
	if n, err := f.ReadAt(mark, 0); err == nil && bytes.Equal(mark[:n], byteOrderMark) {
		c.start = int64(n)
	}
	c.from(f, c.start)
	header, err := c.r.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty; its first line must name the columns")
	}
	if err != nil {
		return nil, mistake(1, err)
	}
	if c.columns, err = headerColumns(t, header); err != nil {
		return nil, mistake(1, err)
	}
	if offset > 0 {
		c.from(f, offset)
		c.start, c.lines = offset, lines
	}
	return c, nil
}

// from starts a reader at an offset.
func (c *csvRows) from(f *os.File, offset int64) {
	c.in = &bounded{r: io.NewSectionReader(f, offset, 1<<62), left: rowMax}
	c.r = csv.NewReader(c.in)
	c.r.FieldsPerRecord, c.r.ReuseRecord = -1, true // next says which row has too many cells.
}

// headerColumns returns the columns in the order of the header.
func headerColumns(t *table, header []string) ([]*column, error) {
	columns := make([]*column, len(header))
	seen := map[string]bool{}
	for i, name := range header {
		switch columns[i] = t.column(name); {
		case columns[i] == nil:
			return nil, fmt.Errorf("column %q is unknown; the columns are %s", name, t.names())
		case seen[name]:
			return nil, fmt.Errorf("column %q stands there twice", name)
		}
		seen[name] = true
	}
	for i := range t.columns {
		if c := &t.columns[i]; c.required && !seen[c.name] {
			return nil, fmt.Errorf("column %q is missing", c.name)
		}
	}
	return columns, nil
}

func (c *csvRows) next() (*row, error) {
	c.in.left = rowMax
	r := &row{offset: c.start + c.r.InputOffset(), values: map[string]json.RawMessage{}}
	cells, err := c.r.Read()
	r.end = c.start + c.r.InputOffset()
	if parse, wrong := errors.AsType[*csv.ParseError](err); wrong {
		r.line = c.lines + int64(parse.StartLine)
		r.fail("", "", parse.Err.Error())
		return r, nil
	}
	if err != nil {
		if errors.Is(err, errRowTooLong) {
			err = fmt.Errorf("after byte %d: %w; is a quote missing?", r.offset, err)
		}
		return nil, err
	}
	first, _ := c.r.FieldPos(0)
	r.line = c.lines + int64(first)
	if len(cells) != len(c.columns) {
		r.fail("", "", fmt.Sprintf("has %d cells, the header %d", len(cells), len(c.columns)))
		return r, nil
	}
	for i, cell := range cells {
		switch {
		case cell == "":
		case !utf8.ValidString(cell):
			r.fail(c.columns[i].name, "", "must be UTF-8")
		default:
			r.set(c.columns[i], c.columns[i].cell(cell), cell)
		}
	}
	return r, nil
}

// bounded reads at most as many bytes as are left.
type bounded struct {
	r    io.Reader
	left int
}

// Read returns errRowTooLong when nothing is left.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errRowTooLong
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
