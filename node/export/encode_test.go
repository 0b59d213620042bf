package export

import (
	"bytes"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// A row group ends at a weight of rowGroupMax: that many lines of the journal, or far fewer purchases of many items, or page views
// with long addresses.
func TestRowGroupsAreBounded(t *testing.T) {
	rowGroups(t, JournalRow{}, rowGroupMax)
	rowGroups(t, EventRow{Items: make([]EventItemRow, 999)}, (rowGroupMax+999)/1_000)
	rowGroups(t, EventRow{Entity: strings.Repeat("x", 2_048)}, (rowGroupMax+8)/9)
}

// rowGroups writes rows for two row groups and a half, each of which must have a number of rows.
func rowGroups[R row](t *testing.T, r R, each int) {
	t.Helper()
	var out bytes.Buffer
	e, err := newEncoder[R](Parquet, &out)
	if err != nil {
		t.Fatal(err)
	}
	rows := 5 * each / 2
	for range rows {
		if err := e.encode([]R{r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.close(); err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil || f.NumRows() != int64(rows) {
		t.Fatalf("%T: %d rows, want %d; %v", r, f.NumRows(), rows, err)
	}
	groups := f.RowGroups()
	if len(groups) != 3 || groups[0].NumRows() != int64(each) || groups[1].NumRows() != int64(each) {
		t.Errorf("%T: %d row groups, the first of %d rows, want 3 and %d", r, len(groups), groups[0].NumRows(), each)
	}
}
