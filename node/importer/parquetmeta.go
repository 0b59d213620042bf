package importer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// The reader of Parquet allocates what lengths in the file say, and a file is foreign input. So its footer and the heads of
// its pages are walked first: what a length announces must be there.
const (
	footerMost      = 4 << 20 // BOUND: 1,000 row groups of 26 columns have less than 3 MiB.
	structsMost     = 1 << 18 // BOUND: structs in lists; each takes up to 1 KiB of memory.
	thriftDepthMost = 16      // BOUND: the format nests 8 deep.
	schemaMost      = 500     // BOUND: columns, groups and lists; a table has 26 columns.
)

// errDamaged means that a file is not what its own lengths, counts and checksums say, or no Parquet at all.
var errDamaged = errors.New("the file is damaged or no Parquet")

// damaged returns an error of a part of the file.
func damaged(format string, a ...any) error {
	return fmt.Errorf("%w: %s", errDamaged, fmt.Sprintf(format, a...))
}

// readFooter returns what the end of a Parquet file says about the rest.
func readFooter(f *os.File) (*format.FileMetaData, int64, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	const frame = 8 // Length and PAR1.
	size := info.Size()
	tail := make([]byte, frame)
	if size < frame+4 {
		return nil, 0, damaged("it has %d bytes", size)
	}
	if _, err := f.ReadAt(tail, size-frame); err != nil {
		return nil, 0, err
	}
	if string(tail[4:]) != "PAR1" {
		return nil, 0, damaged("it does not end with PAR1; encrypted files are not read")
	}
	length := int64(binary.LittleEndian.Uint32(tail))
	if length > size-frame-4 {
		return nil, 0, damaged("its footer has %d bytes, the file %d", length, size)
	}
	if length > footerMost {
		return nil, 0, fmt.Errorf("the footer has %d bytes, at most %d are read: write larger row groups", length, footerMost)
	}
	footer := make([]byte, length)
	if _, err := f.ReadAt(footer, size-frame-length); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	if _, err := thriftLen(footer); err != nil {
		return nil, 0, err
	}
	meta := &format.FileMetaData{}
	if err := guarded(func() error { return thrift.Unmarshal(new(thrift.CompactProtocol), footer, meta) }); err != nil {
		return nil, 0, damaged("footer: %v", err)
	}
	if n := len(meta.Schema); n > schemaMost {
		return nil, 0, fmt.Errorf("the file has %d columns and groups, at most %d are read", n, schemaMost)
	}
	return meta, size, nil
}

// guarded turns a panic of the library, which a damaged file can cause, into an error.
func guarded(fn func() error) (err error) {
	defer func() {
		if found := recover(); found != nil {
			err = damaged("%v", found)
		}
	}()
	return fn()
}

// thriftLen returns the bytes of the struct of Thrift's compact protocol at the beginning of b. It is an error if a length in
// it exceeds what is there.
func thriftLen(b []byte) (int, error) {
	w := thriftWalk{b: b}
	if !w.structure(0) {
		return 0, damaged("a length does not fit at byte %d of %d of the metadata", w.at, len(b))
	}
	return w.at, nil
}

// thriftWalk goes through a struct without building it. Its methods return false when something does not fit.
type thriftWalk struct {
	b       []byte
	at      int
	structs int
}

// Types of the compact protocol.
const (
	thriftTrue = iota + 1
	thriftFalse
	thriftByte
	thriftI16
	thriftI32
	thriftI64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	thriftMap
	thriftStruct
)

func (w *thriftWalk) skip(n uint64) bool {
	if n > uint64(len(w.b)-w.at) {
		return false
	}
	w.at += int(n)
	return true
}

func (w *thriftWalk) octet() (byte, bool) {
	if !w.skip(1) {
		return 0, false
	}
	return w.b[w.at-1], true
}

func (w *thriftWalk) varint() (uint64, bool) {
	v, n := binary.Uvarint(w.b[w.at:])
	return v, n > 0 && w.skip(uint64(n))
}

func (w *thriftWalk) structure(depth int) bool {
	for w.structs++; depth < thriftDepthMost && w.structs <= structsMost; {
		head, ok := w.octet()
		if !ok {
			return false
		}
		if head == 0 {
			return true
		}
		if head>>4 == 0 { // The field's number follows.
			if _, ok = w.varint(); !ok {
				return false
			}
		}
		// The value of a boolean field is its type.
		if kind := head & 15; kind != thriftTrue && kind != thriftFalse && !w.value(kind, depth) {
			return false
		}
	}
	return false
}

func (w *thriftWalk) value(kind byte, depth int) bool {
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		return w.skip(1)
	case thriftI16, thriftI32, thriftI64:
		_, ok := w.varint()
		return ok
	case thriftDouble:
		return w.skip(8)
	case thriftBinary:
		n, ok := w.varint()
		return ok && w.skip(n)
	case thriftList, thriftSet:
		return w.list(depth)
	case thriftStruct:
		return w.structure(depth + 1)
	}
	return false // The format has no maps.
}

func (w *thriftWalk) list(depth int) bool {
	head, ok := w.octet()
	if !ok || depth >= thriftDepthMost {
		return false
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, ok = w.varint(); !ok {
			return false
		}
	}
	if n > uint64(len(w.b)-w.at) { // Each item has a byte at least.
		return false
	}
	for range n {
		if !w.value(head&15, depth+1) {
			return false
		}
	}
	return true
}
