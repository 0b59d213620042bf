package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"unicode/utf8"
)

// rowMax bounds the bytes of a row, so that a missing quote does not read the whole file as one. BOUND: a campaign with 500
// bids and their triggers has less; a request has at most 8 MiB.
const rowMax = 4 << 20

// row is a row of the file.
type row struct {
	line   int64 // Line on which it begins, or number of the row in Parquet; the first of the file is 1.
	offset int64 // Bytes of the file up to the end of the row before it; in Parquet rows before it.
	end    int64 // Bytes of the file up to its end; in Parquet rows up to it.
	values map[string]json.RawMessage
	vendor string // Of a campaign.
	body   []byte // What is sent; nil for a row with faults.
	faults []fault
}

// fault is what is wrong with a row. It is a line of the file of errors.
type fault struct {
	Line    int64  `json:"line"`
	Column  string `json:"column,omitempty"`
	Value   string `json:"value,omitempty"` // Shortened.
	Message string `json:"message"`
}

// valueMax is the most bytes of a value in the file of errors.
const valueMax = 100

// fail adds a fault.
func (r *row) fail(name, value, message string) {
	if len(value) > valueMax {
		cut := valueMax
		for cut > 0 && !utf8.RuneStart(value[cut]) {
			cut--
		}
		value = value[:cut] + "…"
	}
	r.faults = append(r.faults, fault{Column: name, Value: value, Message: message})
}

// set checks a value and adds it to the row.
func (r *row) set(c *column, value json.RawMessage, written string) {
	if message := c.check(value); message != "" {
		r.fail(c.name, written, message)
		return
	}
	r.values[c.name] = value
}

// rowReader reads rows. Rows with faults are rows; an error is one that the rest of the file cannot be read after, or io.EOF.
type rowReader interface {
	next() (*row, error)
}

// openRows returns a reader of the rows from an offset, before which there are so many line ends. The file's position must be
// its beginning.
func openRows(f *os.File, format string, t *table, offset, lines int64) (rowReader, error) {
	switch format {
	case "csv":
		return openCSV(f, t, offset, lines)
	case "ndjson":
		return openNDJSON(f, t, offset, lines)
	case parquetFormat:
		return openParquet(f, t, offset)
	}
	return nil, errors.New("the name does not end with .csv, .ndjson, .jsonl or .parquet: --format says which it is")
}

// errRowTooLong is the error for a row of more than rowMax bytes.
var errRowTooLong = errors.New("the row has more than " + strconv.Itoa(rowMax) + " bytes")

// mistake returns an error of a line.
func mistake(line int64, err error) error { return fmt.Errorf("line %d: %w", line, err) }
