package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// parquetFormat is the name of the format.
const parquetFormat = "parquet"

// parquetRows reads rows of Apache Parquet. A position is a number of rows, because the file has no place where one begins.
type parquetRows struct {
	in      *os.File
	size    int64
	meta    *format.FileMetaData
	file    *parquet.File
	columns []parquetColumn // By the index of the file's columns.

	group   int          // The next row group.
	rows    parquet.Rows // Of the row group before it; nil before the first.
	skip    int64        // Rows of the next row group that are done.
	at      int64        // Rows that were returned or are done.
	total   int64
	buffer  []parquet.Row
	waiting []parquet.Row // The part of buffer that was not returned.
}

// parquetColumn is a column of the file and the one of the table that it fills.
type parquetColumn struct {
	*column
	leaf *parquet.Column
}

// parquetAhead is how many rows are taken from the library at once.
const parquetAhead = 64

// openParquet reads the footer and continues after so many rows.
func openParquet(f *os.File, t *table, done int64) (rowReader, error) {
	meta, size, err := readFooter(f)
	if err != nil {
		return nil, err
	}
	p := &parquetRows{in: f, size: size, meta: meta, at: done, skip: done, buffer: make([]parquet.Row, parquetAhead)}
	err = guarded(func() (err error) {
		p.file, err = parquet.OpenFile(f, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
		return err
	})
	if err != nil {
		return nil, damaged("%v", err)
	}
	if p.columns, err = parquetColumns(t, p.file.Root()); err != nil {
		return nil, err
	}
	for i := range meta.RowGroups {
		g := &meta.RowGroups[i]
		if g.NumRows < 0 || len(g.Columns) != len(p.columns) {
			return nil, damaged("row group %d has %d rows and %d of %d columns", i, g.NumRows, len(g.Columns), len(p.columns))
		}
		if p.total += g.NumRows; p.total > 1<<40 { // BOUND: no sum of it and a position overflows.
			return nil, damaged("it has %d rows", p.total)
		}
	}
	for ; p.group < len(meta.RowGroups) && p.skip >= meta.RowGroups[p.group].NumRows; p.group++ {
		p.skip -= meta.RowGroups[p.group].NumRows
	}
	return p, nil
}

// parquetColumns finds the table's column for each column of the file: brand.id is one of that name or the member id of a
// group brand.
func parquetColumns(t *table, root *parquet.Column) ([]parquetColumn, error) {
	var found []parquetColumn
	var header []string
	var walk func(c *parquet.Column, path []string) error
	walk = func(c *parquet.Column, path []string) error {
		if top := t.column(strings.Join(path, ".")); c.Leaf() || top != nil && top.kind == list {
			leaf := c
			for !leaf.Leaf() { // The levels of a list: vendors.list.element.
				if len(leaf.Columns()) != 1 {
					return fmt.Errorf("column %q must be a list of texts", strings.Join(path, "."))
				}
				leaf = leaf.Columns()[0]
			}
			if most := leaf.MaxRepetitionLevel(); most > 1 || most == 1 && (top == nil || top.kind != list) {
				return fmt.Errorf("column %q cannot be a list of this form; lists of the table are lists of texts", strings.Join(path, "."))
			}
			if leaf.Type().Kind() == parquet.Int96 {
				return fmt.Errorf("column %q has times of type INT96, which is not read; write timestamps of INT64", strings.Join(path, "."))
			}
			found, header = append(found, parquetColumn{top, leaf}), append(header, strings.Join(path, "."))
			return nil
		}
		for _, inner := range c.Columns() {
			if err := walk(inner, append(slices.Clip(path), inner.Name())); err != nil {
				return err
			}
		}
		return nil
	}
	for _, c := range root.Columns() {
		if err := walk(c, []string{c.Name()}); err != nil {
			return nil, err
		}
	}
	if _, err := headerColumns(t, header); err != nil {
		return nil, err
	}
	byIndex := make([]parquetColumn, len(found))
	for _, c := range found {
		byIndex[c.leaf.Index()] = c
	}
	return byIndex, nil
}

func (p *parquetRows) next() (*row, error) {
	for len(p.waiting) == 0 {
		if err := p.fill(); err != nil {
			return nil, err
		}
	}
	values := p.waiting[0]
	p.waiting = p.waiting[1:]
	r := &row{line: p.at + 1, offset: p.at, end: p.at + 1, values: map[string]json.RawMessage{}}
	p.at++
	p.read(r, values)
	return r, nil
}

// fill takes the next rows from the library, io.EOF at the end.
func (p *parquetRows) fill() error {
	if p.rows == nil {
		if p.group == len(p.meta.RowGroups) {
			return io.EOF
		}
		if err := p.open(); err != nil {
			return fmt.Errorf("row group %d: %w", p.group, err)
		}
		p.group++
	}
	var n int
	err := guarded(func() (err error) {
		n, err = p.rows.ReadRows(p.buffer)
		return err
	})
	p.waiting = p.buffer[:max(n, 0)]
	if errors.Is(err, io.EOF) {
		return p.endGroup(int64(n))
	}
	if err == nil && n == 0 {
		err = errors.New("no row was read")
	}
	if err != nil {
		return damaged("after row %d: %v", p.at, err)
	}
	return nil
}

// endGroup checks that a row group had its rows.
func (p *parquetRows) endGroup(last int64) error {
	rows := p.rows
	p.rows = nil
	until := int64(0)
	for i := range p.meta.RowGroups[:p.group] {
		until += p.meta.RowGroups[i].NumRows
	}
	if p.at+last != until {
		return damaged("row group %d ends after row %d, not %d", p.group-1, p.at+last, until)
	}
	return rows.Close()
}

// open checks the pages of the next row group and starts to read it after the rows that are done.
func (p *parquetRows) open() error {
	g, needs := &p.meta.RowGroups[p.group], int64(0)
	for i := range g.Columns {
		leaf := p.columns[i].leaf
		check := pageCheck{
			file: p.in, size: p.size, meta: &g.Columns[i].MetaData, repeats: leaf.MaxRepetitionLevel() > 0,
			absents: leaf.MaxDefinitionLevel() > 0, levels: leaf.MaxDefinitionLevel(),
		}
		n, err := check.run()
		if err != nil {
			return fmt.Errorf("column %q: %w", p.columns[i].name, err)
		}
		if needs += n; needs > groupMost {
			return fmt.Errorf("reading takes %d bytes at once, at most %d are used: write smaller pages", needs, groupMost)
		}
	}
	skip := p.skip
	p.skip = 0
	return guarded(func() error {
		p.rows = p.file.RowGroups()[p.group].Rows()
		if skip == 0 {
			return nil
		}
		return p.rows.SeekToRow(skip)
	})
}
