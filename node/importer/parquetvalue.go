package importer

import (
	"encoding/json"
	"math/big"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// read adds the values of a row. What is not right stays a wrong value, which set finds; a null counts as absent.
func (p *parquetRows) read(r *row, values parquet.Row) {
	bytes := 0
	for _, v := range values {
		if k := v.Kind(); k == parquet.ByteArray || k == parquet.FixedLenByteArray {
			bytes += len(v.ByteArray())
		}
	}
	if bytes > rowMax {
		r.fail("", "", errRowTooLong.Error())
		return
	}
	for len(values) > 0 {
		at := values[0].Column()
		n := 1
		for n < len(values) && values[n].Column() == at {
			n++
		}
		cells := values[:n]
		values = values[n:]
		c := p.columns[at]
		if n == 1 && cells[0].IsNull() {
			continue
		}
		if c.leaf.MaxRepetitionLevel() == 0 {
			c.add(r, c.written(cells[0]))
			continue
		}
		items := make([]string, n)
		for i, v := range cells {
			if items[i] = c.written(v); !utf8.ValidString(items[i]) {
				r.fail(c.name, "", "must be UTF-8")
				return
			}
		}
		value := json.RawMessage(mustMarshal(items))
		r.set(c.column, value, string(value))
	}
}

// add adds a value as CSV would have it.
func (c *parquetColumn) add(r *row, written string) {
	switch {
	case written == "":
	case !utf8.ValidString(written):
		r.fail(c.name, "", "must be UTF-8")
	default:
		r.set(c.column, c.cell(written), written)
	}
}

// written returns a value as a cell of CSV has it, "" for null.
func (c *parquetColumn) written(v parquet.Value) string {
	switch logical := c.logical().(type) {
	case *format.DecimalType:
		return decimalText(v, int(logical.Scale))
	case *format.TimestampType:
		if v.Kind() == parquet.Int64 && logical.Unit.Value != nil {
			return timeText(v.Int64(), logical.Unit.Value.Duration())
		}
	}
	switch v.Kind() {
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return string(v.ByteArray())
	case parquet.Boolean:
		return strconv.FormatBool(v.Boolean())
	case parquet.Int32:
		return strconv.FormatInt(int64(v.Int32()), 10)
	case parquet.Int64:
		return strconv.FormatInt(v.Int64(), 10)
	case parquet.Float: // Its shortest form: 1.1 and not 1.10000002.
		return strconv.FormatFloat(float64(v.Float()), 'f', -1, 32)
	case parquet.Double:
		return strconv.FormatFloat(v.Double(), 'f', -1, 64)
	default:
		return "" // Null. parquetColumns takes no Int96.
	}
}

// logical returns what the column's values mean; nil for nothing more than their type.
func (c *parquetColumn) logical() format.LogicalTypeValue {
	if l := c.leaf.Type().LogicalType(); l != nil {
		return l.Value
	}
	return nil
}

// timeText returns a time as RFC 3339 has it.
func timeText(n int64, unit time.Duration) string {
	perSecond := int64(time.Second / unit)
	seconds, part := n/perSecond, n%perSecond // time.Unix takes negative parts.
	return time.Unix(seconds, part*int64(unit)).UTC().Format(time.RFC3339Nano)
}

// decimalScaleMost bounds the scale of decimals. BOUND: the format has 38 digits in 16 bytes.
const decimalScaleMost = 38

// decimalText returns a decimal, whose unscaled value is a number or a big-endian two's complement.
func decimalText(v parquet.Value, scale int) string {
	x := new(big.Int)
	switch v.Kind() {
	case parquet.Int32:
		x.SetInt64(int64(v.Int32()))
	case parquet.Int64:
		x.SetInt64(v.Int64())
	case parquet.ByteArray, parquet.FixedLenByteArray:
		b := v.ByteArray()
		if len(b) == 0 || len(b) > 16 {
			return "?" // No number, which the column says.
		}
		if x.SetBytes(b); b[0]&0x80 != 0 {
			x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
	default:
		return "?" // The format has no decimals of this type.
	}
	if scale < 0 || scale > decimalScaleMost {
		return "?"
	}
	return new(big.Rat).SetFrac(x, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)).FloatString(scale)
}
