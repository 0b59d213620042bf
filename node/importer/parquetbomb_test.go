package importer

import (
	"bytes"
	"compress/gzip"
	"errors"
	"runtime"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
)

// bombCodec is a codec whose pages are not what they should be.
type bombCodec struct {
	compress.Codec
	encode func(page []byte) []byte
}

func (c bombCodec) Encode(_, page []byte) ([]byte, error) { return c.encode(page), nil }

// bombBytes is what a page becomes when a reader believes it. It is more than reading may take.
const bombBytes = 800 << 20

// A small page that says it is a large one is refused before the library makes it one.
func TestParquetBombs(t *testing.T) {
	type optional struct {
		ID      *string `parquet:"id,optional,plain"`
		Name    string  `parquet:"name,plain"`
		Vendors string  `parquet:"vendors,plain"`
	}
	text := "p"
	for name, codec := range map[string]bombCodec{
		"snappy": {&parquet.Snappy, func([]byte) []byte { return []byte("\x80\x80\x80\x90\x03\x00") }}, // 800 MiB.
		"zstd": {&parquet.Zstd, func([]byte) []byte {
			to, err := zstd.NewWriter(nil)
			if err != nil {
				t.Fatal(err)
			}
			return to.EncodeAll(make([]byte, bombBytes), nil)
		}},
		"gzip": {&parquet.Gzip, func([]byte) []byte {
			var b bytes.Buffer
			to, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = to.Write(make([]byte, bombBytes)); err != nil || to.Close() != nil {
				t.Fatal(err)
			}
			return b.Bytes()
		}},
		"levels": {&parquet.Snappy, func(page []byte) []byte {
			copy(page, "\x06\x00\x00\x00\x80\x80\x80\xa0\x06\x01") // A run of 800 Mi levels.
			return snappy.Encode(nil, page)
		}},
	} {
		if testing.Short() && name == "gzip" {
			continue // Packing 800 MiB takes seconds.
		}
		bombs := 0
		bomb := codec.encode
		codec.encode = func(page []byte) []byte { // One is enough, and takes less time.
			if bombs++; bombs == 1 {
				return bomb(page)
			}
			out, err := codec.Codec.Encode(nil, page)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		content := parquetOf(t, []optional{{&text, "N", "a"}, {&text, "N", "a"}, {&text, "N", "a"}}, parquet.Compression(codec), parquet.DataPageVersion(1))
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		_, err := readAll(t, content)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, errDamaged) || used > damagedBytes {
			t.Errorf("%s: %d bytes were allocated, error %v", name, used, err)
		}
	}
}
