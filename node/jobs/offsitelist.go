package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gavel-ads/gavel/node/blob"
	"github.com/gavel-ads/gavel/node/store"
)

const (
	rowsMax = 1_000_000 // BOUND: rows of a list. It is the interface's.
	// stepRows is how many rows one step reads. BOUND: so much is read again after a change of leaders.
	stepRows = 100_000
)

// errList is a permanent error of a list.
type errList string

func (e errList) Error() string { return string(e) }

// part is the result of one step.
type part struct {
	store.List      // The state after the step.
	end        bool // The list ends with this part.
}

// readPart reads the next rows of a list and stores the accepted ones: the known columns in their order, in lower case, one row a
// line. The part's name depends on the list and the step only, so a step that is done twice writes the same file. errList is
// returned for a list that can never be read.
func readPart(ctx context.Context, blobs blob.Store, l store.List, step int64) (part, error) {
	f, err := blobs.Open(ctx, l.Object)
	if err != nil {
		return part{}, err
	}
	defer func() { _ = f.Close() }() // It was only read.
	r := newRows(f, 0)
	at, columns, err := r.header()
	if err != nil {
		return part{}, errList(err.Error())
	}
	if l.Offset > 0 {
		if _, err := f.Seek(l.Offset, io.SeekStart); err != nil {
			return part{}, err
		}
		r = newRows(f, l.Offset)
	}
	p := part{List: l}
	p.List.Parts++
	pr, pw := io.Pipe()
	go func() { _ = pw.CloseWithError(acceptRows(r, pw, at, columns, step, &p)) }()
	// Put returns an error of acceptRows. OWNERSHIP: p belongs to acceptRows until Put returns, which has then read to the end.
	if err := blobs.Put(ctx, store.ListPart(l.Name, l.Parts), pr); err != nil {
		_ = pr.CloseWithError(err)
		return part{}, err
	}
	return p, nil
}

// acceptRows reads at most step rows and writes those that are valid.
func acceptRows(r *rows, w io.Writer, at map[int]int, columns int, step int64, p *part) error {
	values := [len(ListColumns)][]byte{}
	for i := range values {
		values[i] = make([]byte, 0, hashLen)
	}
	line := make([]byte, 0, len(ListColumns)*(hashLen+1))
	for read := int64(0); read < step; {
		var bad bool
		for i := range values {
			values[i] = values[i][:0]
		}
		blank, err := r.row(func(column int, field []byte, long bool) {
			known, ok := at[column]
			if !ok || len(field) == 0 {
				return
			}
			if long || !appendHash(&values[known], field) {
				bad = true
			}
		})
		if errors.Is(err, io.EOF) {
			p.end = true
			break
		}
		if err != nil {
			return err
		}
		if blank {
			continue
		}
		if read++; p.Rows+1 > rowsMax {
			return errList(fmt.Sprintf("the list has more than %d rows", rowsMax))
		}
		p.Rows++
		line = appendLine(line[:0], values)
		if bad || r.broken || r.column != columns || len(line) == len(ListColumns) {
			p.Bad++
			continue
		}
		p.Good++
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	p.Offset = r.at
	return nil
}

// appendHash appends a value in lower case and reports true if it is 64 hexadecimal digits.
func appendHash(dst *[]byte, field []byte) bool {
	if len(field) != hashLen {
		return false
	}
	for _, c := range field {
		if c >= 'A' && c <= 'F' {
			c |= 0x20
		}
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return false
		}
		*dst = append(*dst, c)
	}
	return true
}

func appendLine(dst []byte, values [len(ListColumns)][]byte) []byte {
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, v...)
	}
	return append(dst, '\n')
}
