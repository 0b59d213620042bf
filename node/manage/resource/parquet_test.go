package resource

import (
	"bytes"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// parquetLine is a line as a reader of the file declares it.
type parquetLine struct {
	ID          *string  `parquet:"id,optional"`
	PartTotal   *int64   `parquet:"part_total,optional"`
	PartDecimal *string  `parquet:"part_decimal,optional"`
	Name        *string  `parquet:"name,optional"`
	Ratio       *float64 `parquet:"ratio,optional"`
	MoreTotal   *int64   `parquet:"more_total,optional"`
	MoreDecimal *string  `parquet:"more_decimal,optional"`
	Count       *string  `parquet:"count,optional"`
	At          *int64   `parquet:"at,optional,timestamp(millisecond)"`
}

// TestParquet: a reader finds every value under its name, what is null in JSON is null, and text is not changed.
func TestParquet(t *testing.T) {
	table := Table{Rows: []line{
		{ID: "=1+1"},
		{
			ID: "a", common: common{part{-5, "-0.25"}}, Name: new("b"), Ratio: new(0.000001), More: &part{7, "7"},
			Count: map[string]int64{"z": 1}, At: 1_500,
		},
	}}
	file := table.parquet()
	rows, err := parquet.Read[parquetLine](bytes.NewReader(file), int64(len(file)))
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	first, second := rows[0], rows[1]
	if *first.ID != "=1+1" || *first.PartTotal != 0 || *first.At != 0 || first.Name != nil || first.Ratio != nil || first.MoreTotal != nil || first.Count != nil {
		t.Errorf("the first row is %+v", first)
	}
	if *second.ID != "a" || *second.PartTotal != -5 || *second.PartDecimal != "-0.25" || *second.Name != "b" || *second.Ratio != 0.000001 ||
		*second.MoreTotal != 7 || *second.MoreDecimal != "7" || *second.Count != `{"z":1}` || *second.At != 1_500 {
		t.Errorf("the second row is %+v", second)
	}
	empty := Table{Rows: []line{}}
	file = empty.parquet()
	if rows, err := parquet.Read[parquetLine](bytes.NewReader(file), int64(len(file))); err != nil || len(rows) != 0 {
		t.Errorf("without rows: %v, %v", rows, err)
	}
	if !bytes.Equal(table.parquet(), table.parquet()) {
		t.Error("the same rows give different bytes")
	}
}
