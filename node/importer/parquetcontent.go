package importer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// decompress returns the bytes of a page, of which there must be n.
func (p *pageCheck) decompress(b []byte, n int) (out []byte, err error) {
	if len(b) == 0 && n == 0 {
		return nil, nil
	}
	switch p.meta.Codec {
	case format.Uncompressed:
		out = b
	case format.Snappy:
		// Decode allocates what the first bytes announce.
		if announced, err := snappy.DecodedLen(b); err != nil || announced != n {
			return nil, damaged("a page has %d bytes, its head says %d", announced, n)
		}
		out, err = snappy.Decode(p.plain[:cap(p.plain)], b)
	case format.Gzip:
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(b)); err == nil {
			out, err = p.atMost(r, n)
		}
	case format.Zstd:
		var r *zstd.Decoder
		if r, err = zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(pageMost+1)); err == nil {
			defer r.Close()
			out, err = p.atMost(r, n)
		}
	default:
		return nil, fmt.Errorf("a column is compressed with %s; it must be snappy, gzip, zstd or uncompressed", p.meta.Codec)
	}
	if err != nil {
		return nil, damaged("a page: %v", err)
	}
	if len(out) != n {
		return nil, damaged("a page has %d bytes, its head says %d", len(out), n)
	}
	if p.meta.Codec != format.Uncompressed {
		p.plain = out // To be used again.
	}
	return out, nil
}

// atMost reads n bytes, and one more if there is one.
func (p *pageCheck) atMost(r io.Reader, n int) ([]byte, error) {
	into := bytes.NewBuffer(p.plain[:0])
	_, err := io.Copy(into, io.LimitReader(r, int64(n)+1))
	return into.Bytes(), err
}

// stored checks that a dictionary has as many values as its head says.
func (p *pageCheck) stored(n int, b []byte) error {
	if n < 0 || n > pageValuesMost {
		return damaged("a dictionary has %d values", n)
	}
	least := n // Of booleans it is less, which have no dictionaries.
	switch p.meta.Type {
	case format.Int32, format.Float, format.ByteArray:
		least = 4 * n
	case format.Int64, format.Double:
		least = 8 * n
	default: // Values of fixed length have a byte at least.
	}
	if least > len(b) {
		return damaged("a dictionary of %d values has %d bytes", n, len(b))
	}
	return nil
}

// encoded checks the values of a page, of which there are n at most.
func (p *pageCheck) encoded(form format.Encoding, b []byte, n int) error {
	switch form {
	case format.Plain:
		return nil // Every value is in the bytes.
	case plainDictionary, format.RLEDictionary:
		if len(b) == 0 {
			return nil
		}
		return checkRuns(b[1:], int(b[0]), n)
	case format.RLE:
		_, err := checkPrefixed(b, 1, n)
		return err
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray:
		w := thriftWalk{b: b}
		for range 2 { // The sizes of blocks.
			if _, ok := w.varint(); !ok && len(b) > 0 {
				return damaged("deltas without a head")
			}
		}
		if total, _ := w.varint(); total > uint64(n) {
			return damaged("%d deltas for %d values", total, n)
		}
		return nil
	default:
		return fmt.Errorf("a column is encoded as %s, which is not read; plain, dictionary and run-length are", form)
	}
}

const plainDictionary = format.PlainDictionary //nolint:staticcheck // Nobody should write it any more, but files have it.

// checkPrefixed checks runs after their length in 4 bytes, and returns what follows.
func checkPrefixed(b []byte, width, n int) ([]byte, error) {
	if len(b) < 4 {
		return nil, damaged("a page of %d bytes has no levels", len(b))
	}
	length := binary.LittleEndian.Uint32(b)
	if b = b[4:]; uint64(length) > uint64(len(b)) {
		return nil, damaged("levels of %d bytes in a page of %d", length, len(b))
	}
	return b[length:], checkRuns(b[:length], width, n)
}

// runPadding is how many values more than a page has its runs may announce. A run of packed values ends with a group of 8,
// and DuckDB fills it up to 256 values, sometimes to one block of 256 more. BOUND: of what a reader unpacks in vain.
const runPadding = 2 * 256

// checkRuns checks that runs of values of some bits announce no more than n values and their padding.
func checkRuns(b []byte, width, n int) error {
	if width > 32 {
		return damaged("values of %d bits", width)
	}
	total := uint64(0)
	for w := (thriftWalk{b: b}); w.at < len(b); {
		head, ok := w.varint()
		count, length := head>>1, uint64(width+7)/8
		if head&1 == 1 { // Groups of 8 values, each as many bytes as a value has bits.
			count, length = 8*min(count, pageMost), uint64(width)*min(count, pageMost)
		}
		if total += count; !ok || total > uint64(n)+runPadding || !w.skip(length) {
			return damaged("runs of %d values in %d bytes, for %d values", total, len(b), n)
		}
	}
	return nil
}
