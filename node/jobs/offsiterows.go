package jobs

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// ListColumns are the known columns of a list, in the order in which accepted rows have them.
var ListColumns = [...]string{"hashed_email", "hashed_phone", "hashed_first_name", "hashed_last_name", "hashed_mobile_device_id"}

const (
	hashLen = 64 // Hexadecimal digits of a SHA-256.
	// fieldMax is how many bytes of a field are kept. BOUND: no known name and no hash is longer, and a hostile file may be one field.
	fieldMax = 128
	// columnsMax is the most columns of a row. BOUND: no honest header has more.
	columnsMax = 1000
)

// rows reads RFC 4180 text row by row in constant memory. Of a field it keeps at most fieldMax bytes and marks longer ones as too
// long. It records its position, so that reading can continue there after a restart.
type rows struct {
	in     *bufio.Reader
	at     int64 // Bytes read.
	field  []byte
	long   bool // The field is longer than fieldMax.
	quoted bool // The field is in quotes.
	broken bool // The row violates RFC 4180.
	column int
}

func newRows(in io.Reader, at int64) *rows {
	return &rows{in: bufio.NewReaderSize(in, 64<<10), at: at, field: make([]byte, 0, fieldMax)}
}

func (r *rows) read() (byte, error) {
	c, err := r.in.ReadByte()
	if err == nil {
		r.at++
	}
	return c, err
}

// row reads one row and calls take for each of its fields. blank reports a row without any character. After the last row the error is
// io.EOF.
func (r *rows) row(take func(column int, field []byte, long bool)) (blank bool, err error) {
	r.broken, r.column = false, 0
	start := r.at
	for {
		end, err := r.readField()
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if errors.Is(err, io.EOF) && r.at == start {
			return false, io.EOF
		}
		if end != ',' && r.column == 0 && len(r.field) == 0 && !r.long && !r.quoted {
			return true, nil
		}
		if r.column < columnsMax {
			take(r.column, r.field, r.long)
		} else {
			r.broken = true
		}
		r.column++
		if end != ',' {
			return false, nil
		}
	}
}

// readField reads a field and returns what ended it: a comma, a line feed, or 0 with io.EOF.
func (r *rows) readField() (end byte, err error) {
	r.field, r.long, r.quoted = r.field[:0], false, false
	c, err := r.read()
	if err != nil {
		return 0, err
	}
	if c == '"' {
		r.quoted = true
		return r.readQuoted()
	}
	for {
		switch c {
		case ',', '\n':
			r.trimReturn(c)
			return c, nil
		case '"':
			r.broken = true // A quote within an unquoted field.
		}
		r.keep(c)
		if c, err = r.read(); err != nil {
			return 0, err
		}
	}
}

// trimReturn removes the carriage return before a line feed.
func (r *rows) trimReturn(end byte) {
	if n := len(r.field); end == '\n' && n > 0 && r.field[n-1] == '\r' && !r.long {
		r.field = r.field[:n-1]
	}
}

func (r *rows) readQuoted() (end byte, err error) {
	for {
		c, err := r.read()
		if err != nil {
			r.broken = true // The quote is never closed.
			return 0, err
		}
		if c != '"' {
			r.keep(c)
			continue
		}
		c, err = r.read()
		if c == '\r' && err == nil {
			c, err = r.read()
			r.broken = r.broken || err != nil || c != '\n'
		}
		switch {
		case err != nil:
			return 0, err
		case c == ',' || c == '\n':
			return c, nil
		case c == '"':
			r.keep('"')
		default:
			r.broken = true // Text after the closing quote.
			r.keep(c)
		}
	}
}

func (r *rows) keep(c byte) {
	if len(r.field) == fieldMax {
		r.long = true
		return
	}
	r.field = append(r.field, c)
}

// header reads the first row and maps the positions of the known columns. Its error says what is wrong with the file.
func (r *rows) header() (at map[int]int, columns int, err error) {
	if mark, _ := r.in.Peek(3); string(mark) == "\xef\xbb\xbf" {
		n, _ := r.in.Discard(3)
		r.at += int64(n)
	}
	at = map[int]int{}
	seen, repeated := map[int]bool{}, false
	blank, err := r.row(func(column int, field []byte, long bool) {
		name := strings.TrimSpace(string(field))
		for known := range ListColumns {
			if ListColumns[known] == name && !long {
				repeated = repeated || seen[known]
				at[column], seen[known] = known, true
			}
		}
	})
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, 0, err
	case err != nil || blank || len(at) == 0:
		return nil, 0, errors.New("the header names none of " + strings.Join(ListColumns[:], ", "))
	case repeated || r.broken:
		return nil, 0, errors.New("the header cannot be read")
	}
	return at, r.column, nil
}
