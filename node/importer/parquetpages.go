package importer

import (
	"fmt"
	"io"
	"math/bits"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Bounds of what is read of a row group at once: a page of each column.
const (
	pageMost       = 64 << 20  // BOUND: bytes of a page, compressed or not. Usual are 1 MiB; DuckDB writes up to 122,880 rows.
	pageHeadMost   = 64 << 10  // BOUND: bytes of the head of a page; its statistics have a value or two.
	groupMost      = 512 << 20 // BOUND: bytes of the largest pages of all columns together, with 16 for each of their values.
	pageValuesMost = 4 << 20   // BOUND: values of a page.
	valuesMost     = 64 << 20  // BOUND: values of a column in a row group; a row cannot have more.
)

// pageCheck goes through the pages of a column of a row group before the library does, because the library believes what their
// heads, codecs and run lengths announce.
type pageCheck struct {
	file    io.ReaderAt
	size    int64
	meta    *format.ColumnMetaData
	repeats bool // The column has repetition levels,
	absents bool // and definition levels,
	levels  int  // up to this one.
	plain   []byte

	values, dictionary, largest int64
}

// run returns the bytes that reading the column takes at once.
func (p *pageCheck) run() (int64, error) {
	at := p.meta.DataPageOffset
	if d := p.meta.DictionaryPageOffset; d != 0 {
		at = d
	}
	end := at + p.meta.TotalCompressedSize
	if at < 0 || p.meta.TotalCompressedSize < 0 || end < at || end > p.size {
		return 0, damaged("a column ends at byte %d of %d", end, p.size)
	}
	for at < end {
		n, err := p.page(at, end)
		if err != nil {
			return 0, err
		}
		at += n
	}
	if p.values > valuesMost {
		return 0, fmt.Errorf("a row group has %d values of a column, at most %d are read: write smaller row groups", p.values, valuesMost)
	}
	return p.dictionary + p.largest, nil
}

// page checks the page at an offset and returns its bytes with its head.
func (p *pageCheck) page(at, end int64) (int64, error) {
	head := make([]byte, min(pageHeadMost, end-at))
	if _, err := p.file.ReadAt(head, at); err != nil {
		return 0, err
	}
	n, err := thriftLen(head)
	if err != nil {
		return 0, err
	}
	h := &format.PageHeader{}
	if err := guarded(func() error { return thrift.Unmarshal(new(thrift.CompactProtocol), head[:n], h) }); err != nil {
		return 0, damaged("head of a page: %v", err)
	}
	packed, plain := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
	if packed < 0 || plain < 0 || packed > end-at-int64(n) {
		return 0, damaged("a page at byte %d has %d bytes", at, packed)
	}
	if packed > pageMost || plain > pageMost {
		return 0, fmt.Errorf("a page has %d bytes, at most %d are read: write smaller pages", max(packed, plain), pageMost)
	}
	content := make([]byte, packed)
	if _, err := p.file.ReadAt(content, at+int64(n)); err != nil {
		return 0, err
	}
	values, err := p.content(h, content)
	if err != nil {
		return 0, err
	}
	needs := packed + plain + 16*values
	if h.Type == format.DictionaryPage {
		p.dictionary += needs
	} else {
		p.largest = max(p.largest, needs)
		p.values += values
	}
	return int64(n) + packed, nil
}

// content checks the bytes of a page and returns how many values it has.
func (p *pageCheck) content(h *format.PageHeader, b []byte) (int64, error) {
	switch {
	case h.Type == format.DictionaryPage && h.DictionaryPageHeader.Valid:
		d := h.DictionaryPageHeader.V
		plain, err := p.decompress(b, int(h.UncompressedPageSize))
		if err == nil && d.Encoding != format.Plain && d.Encoding != plainDictionary {
			err = damaged("a dictionary is encoded as %s", d.Encoding)
		}
		if err == nil {
			err = p.stored(int(d.NumValues), plain)
		}
		return int64(d.NumValues), err
	case h.Type == format.DataPage && h.DataPageHeader.Valid:
		d := h.DataPageHeader.V
		if err := checkCount(d.NumValues); err != nil {
			return 0, err
		}
		plain, err := p.decompress(b, int(h.UncompressedPageSize))
		if err != nil {
			return 0, err
		}
		for _, l := range []struct {
			has  bool
			most int
			form format.Encoding
		}{{p.repeats, 1, d.RepetitionLevelEncoding}, {p.absents, p.levels, d.DefinitionLevelEncoding}} {
			if !l.has {
				continue
			}
			if l.form != format.RLE {
				return 0, damaged("levels are encoded as %s", l.form)
			}
			if plain, err = checkPrefixed(plain, bits.Len(uint(l.most)), int(d.NumValues)); err != nil {
				return 0, err
			}
		}
		return int64(d.NumValues), p.encoded(d.Encoding, plain, int(d.NumValues))
	case h.Type == format.DataPageV2 && h.DataPageHeaderV2.Valid:
		return p.second(h, b)
	}
	return 0, damaged("a page has the type %s", h.Type)
}

// second checks a page of the second form, whose levels are never compressed.
func (p *pageCheck) second(h *format.PageHeader, b []byte) (int64, error) {
	d := h.DataPageHeaderV2.V
	if err := checkCount(d.NumValues); err != nil {
		return 0, err
	}
	repeat, absent := int(d.RepetitionLevelsByteLength), int(d.DefinitionLevelsByteLength)
	if repeat < 0 || absent < 0 || repeat > len(b) || absent > len(b)-repeat || d.NumNulls < 0 || d.NumNulls > d.NumValues ||
		int(h.UncompressedPageSize) < repeat+absent {
		return 0, damaged("levels of %d and %d bytes in a page of %d", repeat, absent, len(b))
	}
	width := 0 // Some writers have a run of levels that are all 0 where there are none.
	if p.repeats {
		width = 1
	}
	if err := checkRuns(b[:repeat], width, int(d.NumValues)); err != nil {
		return 0, err
	}
	if err := checkRuns(b[repeat:repeat+absent], bits.Len(uint(p.levels)), int(d.NumValues)); err != nil {
		return 0, err
	}
	plain, err := b[repeat+absent:], error(nil)
	if !d.IsCompressed.Valid || d.IsCompressed.V {
		plain, err = p.decompress(plain, int(h.UncompressedPageSize)-repeat-absent)
	}
	if err != nil {
		return 0, err
	}
	return int64(d.NumValues), p.encoded(d.Encoding, plain, int(d.NumValues))
}

func checkCount(values int32) error {
	if values < 0 {
		return damaged("a page has %d values", values)
	}
	if values > pageValuesMost {
		return fmt.Errorf("a page has %d values, at most %d are read: write smaller pages", values, pageValuesMost)
	}
	return nil
}
