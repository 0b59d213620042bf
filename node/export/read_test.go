package export_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"github.com/gavel-ads/gavel/node/export"
)

// exported is what a reader finds who follows the manifests of a target.
type exported struct {
	manifests   map[string]export.Manifest // By path.
	journal     []export.JournalRow
	conversions []export.ConversionRow
	rollups     []export.RollupRow
	events      []export.EventRow
}

// follow reads all files that manifests name, and compares them with what the manifests say of them, and the formats with each other.
func follow(t *testing.T, m *memory) (all exported) {
	t.Helper()
	all.manifests = map[string]export.Manifest{}
	for _, path := range slices.Sorted(maps.Keys(m.files)) {
		if !strings.Contains(path, "/manifest/") {
			continue
		}
		var x export.Manifest
		if err := json.Unmarshal(m.files[path], &x); err != nil {
			t.Fatal(path, err)
		}
		all.manifests[path] = x
		for i := range x.Files {
			f := &x.Files[i]
			sum := sha256.Sum256(m.files[f.Path])
			if hex.EncodeToString(sum[:]) != f.SHA256 || int64(len(m.files[f.Path])) != f.Bytes || x.SchemaVersion != export.SchemaVersion {
				t.Errorf("%s is not as its manifest says", f.Path)
			}
			switch f.Dataset {
			case export.Journal:
				all.journal = read(t, m, f, all.journal, func(r export.JournalRow) int64 { return r.Amount }, "amount_micros")
			case export.Conversions:
				all.conversions = read(t, m, f, all.conversions, func(r export.ConversionRow) int64 { return r.Charged }, "charged_micros")
			case export.Rollups:
				all.rollups = read(t, m, f, all.rollups, func(r export.RollupRow) int64 { return r.Clicks }, "clicks")
			case export.Events:
				all.events = read(t, m, f, all.events, func(r export.EventRow) int64 { return r.Charged }, "charged_micros")
			default:
				t.Errorf("%s is of no dataset", f.Path)
			}
		}
	}
	return all
}

// read appends the rows of a file to those of the files before. The NDJSON file of a segment follows the Parquet file, and has the same
// rows.
func read[R any](t *testing.T, m *memory, f *export.File, before []R, of func(R) int64, column string) []R {
	t.Helper()
	var rows []R
	var err error
	content := m.files[f.Path]
	if f.Format == export.Parquet {
		rows, err = parquet.Read[R](bytes.NewReader(content), int64(len(content)))
	} else {
		rows, err = readLines[R](content)
	}
	if err != nil || int64(len(rows)) != f.Rows || f.Rows == 0 {
		t.Fatalf("%s: %d rows, %v; its manifest says %d", f.Path, len(rows), err, f.Rows)
	}
	sum := int64(0)
	for _, r := range rows {
		sum += of(r)
	}
	if f.Sums[column] != sum {
		t.Errorf("%s: the sum of %s is %d, its manifest says %d", f.Path, column, sum, f.Sums[column])
	}
	if f.Format != export.Parquet {
		if !reflect.DeepEqual(before[len(before)-len(rows):], rows) {
			t.Errorf("%s has other rows than the Parquet file", f.Path)
		}
		return before
	}
	return append(before, rows...)
}

func readLines[R any](content []byte) (rows []R, err error) {
	packed, err := zstd.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	lines := json.NewDecoder(packed)
	lines.DisallowUnknownFields()
	for {
		var r R
		if err := lines.Decode(&r); errors.Is(err, io.EOF) {
			return rows, nil
		} else if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
}
