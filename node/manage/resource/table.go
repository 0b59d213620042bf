package resource

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Tabular is the body of an answer that a client may also have as CSV or Parquet. Table is called on the zero body too, when the
// operation is documented.
type Tabular interface{ Table() Table }

// Table is what an answer has for CSV and Parquet.
type Table struct {
	// Rows is a slice of structs. Each member becomes a column that is named like its path in JSON, such as clicks.total; members of
	// embedded structs have no part of their own in the path. A text member with the tag csv:"number" holds a number.
	Rows            any
	Page            Page
	CompleteThrough Time
}

// column is one member of the rows.
type column struct {
	name   string
	index  []int // The path of the member for reflect; pointers on it may be nil.
	number bool  // A text that holds a number, to which no apostrophe is added.
}

// columns returns the columns of a table's rows, in the order of the members.
func (t *Table) columns() []column { return columnsOf(reflect.TypeOf(t.Rows).Elem(), "", nil) }

func columnsOf(row reflect.Type, prefix string, index []int) []column {
	var all []column
	for i := range row.NumField() {
		f := row.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		at := append(slices.Clone(index), i)
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case f.Anonymous && name == "":
			all = append(all, columnsOf(inner, prefix, at)...)
		case inner.Kind() == reflect.Struct:
			all = append(all, columnsOf(inner, prefix+name+".", at)...)
		default:
			all = append(all, column{prefix + name, at, f.Tag.Get("csv") == "number"})
		}
	}
	return all
}

// csv returns the table as RFC 4180 has it: a header line, then one line per row, each ended by CR LF. It does not use encoding/csv,
// which changes line ends within cells.
func (t *Table) csv() []byte {
	columns, rows := t.columns(), reflect.ValueOf(t.Rows)
	var text []byte
	for i := range columns {
		text = append(appendCell(text, columns[i].name), separator(i, len(columns))...)
	}
	for r := range rows.Len() {
		for i := range columns {
			text = append(columns[i].append(text, rows.Index(r)), separator(i, len(columns))...)
		}
	}
	return text
}

// separator returns what follows cell i of n.
func separator(i, n int) string {
	if i == n-1 {
		return "\r\n"
	}
	return ","
}

// of returns the value of a row, and false if it is null or absent in JSON.
func (c *column) of(row reflect.Value) (any, bool) {
	v, err := row.FieldByIndexErr(c.index)
	if err != nil {
		return nil, false // A pointer on the path is nil.
	}
	if v.Kind() == reflect.Pointer || v.Kind() == reflect.Map {
		if v.IsNil() {
			return nil, false
		}
	}
	return cellValue(reflect.Indirect(v)), true
}

// cellValue returns a value with every kind of integer but Time as an int64, so that a column needs one form for all of them.
func cellValue(v reflect.Value) any {
	switch {
	case v.Type() == reflect.TypeFor[Time]():
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		return int64(v.Uint()) // BOUND: members with more than 32 bits are signed.
	}
	return v.Interface()
}

// append appends the cell of a row. A member that is null or absent in JSON is an empty cell, a map is a JSON object in one cell.
func (c *column) append(dst []byte, row reflect.Value) []byte {
	value, present := c.of(row)
	if !present {
		return dst
	}
	switch x := value.(type) {
	case Time:
		return append(dst, x.text()...)
	case int64:
		return strconv.AppendInt(dst, x, 10)
	case float64:
		return strconv.AppendFloat(dst, x, 'f', -1, 64)
	case bool:
		return strconv.AppendBool(dst, x)
	case string:
		if c.number {
			return append(dst, x...)
		}
		return appendText(dst, x)
	case map[string]int64:
		return appendCell(dst, objectOf(x))
	}
	panic(fmt.Sprintf("CSV has no form for the type %T of %s", value, c.name))
}

// objectOf returns counts as a JSON object.
func objectOf(counts map[string]int64) string {
	object, err := json.Marshal(counts)
	if err != nil {
		panic("counts are always JSON: " + err.Error())
	}
	return string(object)
}

// appendText appends a text cell. An apostrophe precedes text that a spreadsheet would run as a formula, because ids come from
// outside and whoever opens the file trusts it.
func appendText(dst []byte, text string) []byte {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		text = "'" + text
	}
	return appendCell(dst, text)
}

// appendCell quotes a cell if it needs it.
func appendCell(dst []byte, text string) []byte {
	if !strings.ContainsAny(text, "\",\r\n") {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	dst = append(dst, strings.ReplaceAll(text, `"`, `""`)...)
	return append(dst, '"')
}

// text returns the time as JSON has it, without quotes.
func (t Time) text() string { return time.UnixMilli(int64(t)).UTC().Format(timeLayout) }
