package importer

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// parquetOf returns rows as a file with two row groups at least.
func parquetOf[T any](t testing.TB, rows []T, options ...parquet.WriterOption) string {
	t.Helper()
	var file bytes.Buffer
	w := parquet.NewGenericWriter[T](&file, append(options, parquet.MaxRowsPerRowGroup(int64(len(rows)+1)/2), parquet.PageBufferSize(4096))...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.String()
}

// parquetOfCSV returns a table of texts as Parquet.
func parquetOfCSV(table string) string {
	lines, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		panic(err)
	}
	group := parquet.Group{}
	for _, name := range lines[0] {
		group[name] = parquet.Optional(parquet.String())
	}
	schema := parquet.NewSchema("table", group)
	at := map[string]int{}
	for i, path := range schema.Columns() {
		at[path[0]] = i
	}
	var file bytes.Buffer
	w := parquet.NewGenericWriter[any](&file, schema, parquet.MaxRowsPerRowGroup(777), parquet.PageBufferSize(1000), parquet.Compression(&parquet.Snappy))
	for _, line := range lines[1:] {
		row := make(parquet.Row, len(group))
		for i, cell := range line {
			c := at[lines[0][i]]
			if row[c] = parquet.NullValue().Level(0, 0, c); cell != "" {
				row[c] = parquet.ValueOf(cell).Level(0, 1, c)
			}
		}
		if _, err := w.WriteRows([]parquet.Row{row}); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return file.String()
}

type brandRow struct {
	ID   string  `parquet:"id"`
	Name *string `parquet:"name,optional"`
}

type productRow struct {
	ID         string    `parquet:"id,dict"`
	Name       string    `parquet:"name"`
	Vendors    []string  `parquet:"vendors,list"`
	Categories []string  `parquet:"categories"`
	Brand      *brandRow `parquet:"brand,optional"`
	Price      int64     `parquet:"price,decimal(2:18)"`
	Quality    float32   `parquet:"quality_score"`
	Active     bool      `parquet:"active"`
	EAN        int64     `parquet:"ean,optional"`
	Metadata   string    `parquet:"metadata,optional,plain"`
}

func someProducts() []productRow {
	return []productRow{
		{ID: "p", Name: "N", Vendors: []string{"a", "b"}, Categories: []string{"x"}, Brand: &brandRow{ID: "b"}, Price: 150, Quality: 0.1, Active: true, EAN: 4006381333931},
		{ID: "q", Name: "ä", Vendors: []string{"a"}, Price: -1, Metadata: `{"k":1}`},
		{ID: "r", Name: "\xff"},
	}
}

// Values of every type are what CSV would have.
func TestParquetRows(t *testing.T) {
	n := newFakeNode(t)
	file := writeFile(t, "f.parquet", parquetOf(t, someProducts()))
	r, err := Run(t.Context(), n.options("catalog", file))
	if err != nil || r.Rows != 3 || r.Failed != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	const want = `{"active":true,"brand":{"id":"b"},"categories":["x"],"ean":"4006381333931","id":"p","name":"N","price":1.50,"quality_score":0.1,"vendors":["a","b"]}`
	if got := n.upserted["p"]; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
	faults := readFile(t, file+".errors")
	for _, part := range []string{
		`{"line":2,"column":"price","value":"-0.01","message":"must be 0 to 1000000000000"}`, `{"line":3,"column":"name","message":"must be UTF-8"}`,
	} {
		if !strings.Contains(faults, part) {
			t.Errorf("no %s in %s", part, faults)
		}
	}
	again, err := Run(t.Context(), n.options("catalog", file))
	if err != nil || !again.Nothing {
		t.Errorf("a repeat: %+v, %v", again, err)
	}
}

// A time is one of RFC 3339, whatever its unit.
func TestParquetTimes(t *testing.T) {
	type campaign struct {
		Vendor   string    `parquet:"vendorId"`
		Name     string    `parquet:"name"`
		Type     string    `parquet:"campaignType"`
		Products []string  `parquet:"bidProducts,list"`
		Amount   int32     `parquet:"bidAmount"`
		Start    time.Time `parquet:"startDate,timestamp(microsecond)"`
	}
	n := newFakeNode(t)
	start := time.Date(1969, 7, 20, 20, 17, 40, 5000, time.UTC)
	file := writeFile(t, "f.parquet", parquetOf(t, []campaign{{"v", "N", "manual", []string{"p"}, 35, start}}))
	if r, err := Run(t.Context(), n.options("campaigns", file)); err != nil || r.Failed != 0 {
		t.Fatalf("%+v, %v: %s", r, err, readFile(t, file+".errors"))
	}
	for _, body := range n.campaigns {
		if !strings.Contains(body, `"startDate":"1969-07-20T20:17:40.000005Z"`) || !strings.Contains(body, `"amount":35`) {
			t.Error(body)
		}
	}
}

// Columns that the table does not have, or in another form, are an error before anything is sent.
func TestParquetColumns(t *testing.T) {
	type unknown struct {
		ID    string `parquet:"id"`
		Prize int64  `parquet:"prize"`
	}
	type twice struct {
		ID   string   `parquet:"id"`
		Name []string `parquet:"name,list"`
	}
	type missing struct {
		ID string `parquet:"id"`
	}
	n := newFakeNode(t)
	for want, content := range map[string]string{
		`column "prize" is unknown`:                   parquetOf(t, []unknown{{}}),
		`column "name.list.element" cannot be a list`: parquetOf(t, []twice{{}}),
		`column "name" is missing`:                    parquetOf(t, []missing{{}}),
		"no Parquet: it does not end with PAR1":       strings.Repeat("x", 100),
		"it has 3 bytes":                              "PAR",
		"compressed with BROTLI; it must be snappy":   parquetOf(t, someProducts(), parquet.Compression(&parquet.Brotli)),
	} {
		_, err := Run(t.Context(), n.options("catalog", writeFile(t, "f.parquet", content)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if n.requests != 0 {
		t.Errorf("%d requests", n.requests)
	}
}

// A file that changes between two runs is noticed, because rows cannot be found by their place in it.
func TestParquetChanged(t *testing.T) {
	n := newFakeNode(t)
	file := writeFile(t, "f.parquet", parquetOfCSV(many("catalog", "csv", 2000)))
	o := n.options("catalog", file)
	ctx, stop := context.WithCancel(t.Context())
	o.Progress = func(int64) { stop() }
	if _, err := Run(ctx, o); err == nil {
		t.Fatal("it was not interrupted")
	}
	if err := os.WriteFile(file, []byte(parquetOfCSV(many("catalog", "csv", 2001))), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Run(t.Context(), n.options("catalog", file))
	if err == nil || !strings.Contains(err.Error(), "has changed since 500 of its rows were imported") {
		t.Error(err)
	}
}

// damagedFiles are whole files of several forms.
func damagedFiles(t testing.TB) map[string]string {
	files := map[string]string{"texts": parquetOfCSV(many("catalog", "csv", 300))}
	rows := make([]productRow, 0, 300)
	for range 100 {
		rows = append(rows, someProducts()...)
	}
	for name, codec := range map[string]compress.Codec{
		"plain": &parquet.Uncompressed, "snappy": &parquet.Snappy, "gzip": &parquet.Gzip, "zstd": &parquet.Zstd,
	} {
		files[name+"1"] = parquetOf(t, rows, parquet.Compression(codec), parquet.DataPageVersion(1))
		files[name+"2"] = parquetOf(t, rows, parquet.Compression(codec), parquet.DataPageVersion(2))
	}
	return files
}

// readAll reads all rows, and returns how many there are.
func readAll(t testing.TB, content string) (rows int, err error) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteString(content); err != nil {
		t.Fatal(err)
	}
	r, err := openParquet(f, tables["catalog"], 0)
	for err == nil {
		if _, err = r.next(); err == nil {
			rows++
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return rows, err
}

// damagedBytes bounds what reading a small file allocates, whatever it says about itself.
const damagedBytes = 600 << 20

// Damaged files of every form are an error or other rows, never a panic and never more memory than the bounds allow.
func TestDamagedParquet(t *testing.T) {
	for name, whole := range damagedFiles(t) {
		if n, err := readAll(t, whole); n != 300 || err != nil {
			t.Errorf("%s: %d rows, %v", name, n, err)
		}
		random := rand.New(rand.NewPCG(1, uint64(len(whole))))
		tries, errorsFound := 300, 0
		if testing.Short() {
			tries = 60
		}
		for i := range tries {
			b := []byte(whole)
			at := random.IntN(len(b))
			switch i % 5 {
			case 0:
				b[at] ^= 1 << random.IntN(8)
			case 1:
				b = b[:at]
			case 2:
				copy(b[at:], "\xff\xff\xff\xff\x07")
			case 3: // Of the footer.
				footer := int(binary.LittleEndian.Uint32(b[len(b)-8:]))
				b[len(b)-9-random.IntN(footer)] ^= byte(1 + random.IntN(255))
			case 4: // A part of another place.
				copy(b[at:], b[random.IntN(len(b)):][:min(20, len(b)-at)])
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := readAll(t, string(b))
			runtime.ReadMemStats(&after)
			if err != nil {
				errorsFound++
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > damagedBytes {
				t.Errorf("%s, try %d: %d bytes were allocated, error %v", name, i, used, err)
			}
		}
		if errorsFound < tries/3 {
			t.Errorf("%s: %d of %d damages are errors", name, errorsFound, tries)
		}
	}
}

// FuzzParquet reads anything without a panic.
func FuzzParquet(f *testing.F) {
	for _, whole := range damagedFiles(f) {
		f.Add([]byte(whole))
	}
	f.Fuzz(func(t *testing.T, b []byte) { _, _ = readAll(t, string(b)) })
}

// Lengths and counts that nothing stands behind are refused before anything is allocated for them.
func TestAnnouncedLengths(t *testing.T) {
	const huge = "\xff\xff\xff\xff\x07"
	list := "\x19\xfc" + huge + "\x00" // Field 1: structs.
	for name, err := range map[string]error{
		"list":         second(thriftLen([]byte(list))),
		"text":         second(thriftLen([]byte("\x18" + huge + "\x00"))),
		"nested":       second(thriftLen(bytes.Repeat([]byte{0x1c}, 100))),
		"structs":      second(thriftLen(append([]byte("\x19\xfc\xff\xff\x3f"), make([]byte, 1<<20)...))),
		"run":          checkRuns([]byte("\xfe\xff\xff\xff\x0f\x01"), 1, 100),
		"packed run":   checkRuns([]byte("\xff\xff\xff\xff\x0f\x01"), 1, 100),
		"runs of none": checkRuns(bytes.Repeat([]byte{0x90, 0x03}, 100), 0, 100),
		"deltas":       (&pageCheck{}).encoded(format.DeltaBinaryPacked, []byte("\x80\x01\x04"+huge), 100),
	} {
		if !errors.Is(err, errDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := checkRuns([]byte("\xc8\x01\x01"), 1, 100); err != nil {
		t.Error(err)
	}
}

func second(_ int, err error) error { return err }

// A page of an optional boolean as another writer has it: with a run of repetition levels although there are none.
func TestForeignPage(t *testing.T) {
	page, err := hex.DecodeString("15061534155c5c158801150c1588011506151615040000" + "8801" + "07fb7f7f1c0109fefbbf3f" +
		"1f8b0800000000000000e3646060103c7b33876fb6f1764b0073f249940d000000")
	if err != nil {
		t.Fatal(err)
	}
	check := pageCheck{
		file: bytes.NewReader(page), size: int64(len(page)), absents: true, levels: 1,
		meta: &format.ColumnMetaData{Codec: format.Gzip, Type: format.Boolean, TotalCompressedSize: int64(len(page))},
	}
	if _, err := check.run(); err != nil || check.values != 68 {
		t.Errorf("%d values, %v", check.values, err)
	}
}

// A column of a type that has no text is refused, not read as empty.
func TestParquetTimesOf96Bits(t *testing.T) {
	type row struct {
		ID      string           `parquet:"id"`
		Name    string           `parquet:"name"`
		Vendors deprecated.Int96 `parquet:"vendors"`
	}
	_, err := readAll(t, parquetOf(t, []row{{ID: "p", Name: "N"}}))
	if err == nil || !strings.Contains(err.Error(), `column "vendors" has times of type INT96`) {
		t.Errorf("error %v", err)
	}
}

// Files of DuckDB 1.5.6 are read, in both versions of the format. It fills up runs of packed values to blocks of 256, which
// were taken for damage. The files were made with
//
//	COPY (SELECT 'd' || i AS id, 'Product ' || i AS name, ['v' || (i % 10)] AS vendors,
//	    CASE WHEN i % 3 > 0 THEN ['kitchen', 'home'] END AS categories, {'id': 'b' || (i % 7)} AS brand,
//	    ((i % 1000) / 10)::DECIMAL(10,2) AS price, i % 2 = 0 AS active
//	  FROM range(3000) t(i)) TO 'duckdb.parquet' (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION V1 or V2)
func TestParquetOfDuckDB(t *testing.T) {
	for _, name := range []string{"duckdb.parquet", "duckdb-v2.parquet"} {
		content, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		n := newFakeNode(t)
		r, err := Run(t.Context(), n.options("catalog", writeFile(t, name, string(content))))
		if err != nil || r.Rows != 3_000 || r.Failed != 0 || len(n.upserted) != 3_000 {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
		for i := range 3_000 {
			categories := `"categories":["kitchen","home"],`
			if i%3 == 0 {
				categories = `"categories":[],` // The API needs the member.
			}
			id := fmt.Sprint("d", i)
			want := fmt.Sprintf(`{"active":%t,"brand":{"id":"b%d"},%s"id":%q,"name":"Product %d","price":%d.%d0,"vendors":["v%d"]}`,
				i%2 == 0, i%7, categories, id, i, i%1000/10, i%10, i%10)
			if got := n.upserted[id]; got != want {
				t.Fatalf("%s: sent %s, want %s", name, got, want)
			}
		}
	}
}
