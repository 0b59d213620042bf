package resource

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// parquetName is the name of a column in Parquet, where a dot would have to be quoted in every query: clicks_total for clicks.total.
func (c *column) parquetName() string { return strings.ReplaceAll(c.name, ".", "_") }

// parquet returns the table as an Apache Parquet file with the columns of the CSV form. Every column may be null. A text that holds a
// number stays a text, because it has more digits than a floating-point number; an object of counts is JSON.
func (t *Table) parquet() []byte {
	columns, rows := t.columns(), reflect.ValueOf(t.Rows)
	group := parquet.Group{}
	for i := range columns {
		group[columns[i].parquetName()] = parquet.Optional(columns[i].parquetNode(reflect.TypeOf(t.Rows).Elem()))
	}
	schema := parquet.NewSchema("report", group)
	places := map[string]int{} // The file has its columns in another order than the table.
	for at, path := range schema.Columns() {
		places[path[0]] = at
	}
	var file bytes.Buffer
	w := parquet.NewGenericWriter[any](&file, schema, parquet.Compression(&parquet.Zstd), parquet.CreatedBy("gavel", "", ""))
	for r := range rows.Len() {
		row := make(parquet.Row, len(columns))
		for i := range columns {
			at := places[columns[i].parquetName()]
			row[at] = columns[i].parquetValue(rows.Index(r), at)
		}
		if _, err := w.WriteRows([]parquet.Row{row}); err != nil {
			panic("a row that was made by its schema does not fit it: " + err.Error())
		}
	}
	if err := w.Close(); err != nil {
		panic("a buffer takes every write: " + err.Error())
	}
	return file.Bytes()
}

// parquetNode returns the type of a column of rows of a type.
func (c *column) parquetNode(row reflect.Type) parquet.Node {
	f := row.FieldByIndex(c.index)
	kind := f.Type
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	switch cellValue(reflect.Zero(kind)).(type) {
	case Time:
		return parquet.Timestamp(parquet.Millisecond)
	case int64:
		return parquet.Int(64)
	case float64:
		return parquet.Leaf(parquet.DoubleType)
	case bool:
		return parquet.Leaf(parquet.BooleanType)
	case string, map[string]int64:
		return parquet.String()
	}
	panic("Parquet has no form for the type " + kind.String() + " of " + c.name)
}

// parquetValue returns the value of a row for the column at a place of the file.
func (c *column) parquetValue(row reflect.Value, at int) parquet.Value {
	value, present := c.of(row)
	if !present {
		return parquet.NullValue().Level(0, 0, at)
	}
	const defined = 1
	switch x := value.(type) {
	case Time:
		return parquet.ValueOf(int64(x)).Level(0, defined, at)
	case int64, float64, bool, string:
		return parquet.ValueOf(x).Level(0, defined, at)
	case map[string]int64:
		return parquet.ValueOf(objectOf(x)).Level(0, defined, at)
	}
	panic(fmt.Sprintf("Parquet has no form for the type %T of %s", value, c.name))
}
