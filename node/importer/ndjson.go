package importer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"unicode/utf8"
)

// ndjsonRows reads rows of NDJSON: a JSON object on each line; lines of blanks are skipped.
type ndjsonRows struct {
	in     *bufio.Reader
	table  *table
	offset int64
	lines  int64 // Line ends before offset.
}

func openNDJSON(f *os.File, t *table, offset, lines int64) (rowReader, error) {
	return &ndjsonRows{in: bufio.NewReaderSize(io.NewSectionReader(f, offset, 1<<62), rowMax), table: t, offset: offset, lines: lines}, nil
}

func (n *ndjsonRows) next() (*row, error) {
	r := &row{offset: n.offset, values: map[string]json.RawMessage{}}
	line, long, err := n.line()
	for err == nil && !long && len(bytes.TrimSpace(line)) == 0 {
		line, long, err = n.line()
	}
	if err != nil {
		return nil, err
	}
	r.line, r.end = n.lines, n.offset
	var members map[string]json.RawMessage
	switch {
	case long:
		r.fail("", "", errRowTooLong.Error())
	case !utf8.Valid(line):
		r.fail("", "", "must be UTF-8")
	case json.Unmarshal(line, &members) != nil || members == nil:
		r.fail("", string(bytes.TrimSpace(line)), "must be a JSON object")
	default:
		n.table.read(r, members, "")
	}
	return r, nil
}

// line returns the next line, and whether it was too long and is skipped.
func (n *ndjsonRows) line() (line []byte, long bool, err error) {
	for {
		line, err = n.in.ReadSlice('\n')
		n.offset += int64(len(line))
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
		long = true
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0 && !long) {
		return nil, false, err
	}
	n.lines++
	return line, long, nil
}

// read checks members and adds them to the row. A null counts as absent.
func (t *table) read(r *row, members map[string]json.RawMessage, prefix string) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value := members[name]
		c := t.column(prefix + name)
		switch {
		case c == nil && prefix == "" && t.nests(name):
			var inner map[string]json.RawMessage
			if err := json.Unmarshal(value, &inner); err != nil {
				r.fail(name, string(value), "must be a JSON object")
			}
			t.read(r, inner, name+".")
		case c == nil:
			r.fail(prefix+name, string(value), "is unknown; the members are "+t.names())
		case !isNull(value):
			r.set(c, value, string(value))
		}
	}
}
