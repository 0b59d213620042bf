package snapshot

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// The stream, big-endian:
//
//	header   magic u32 | format u8 | group u16 | cluster u64 | index u64 | term u64 | digest u64 | crc32c u32
//	block    'B' | length u32 | records | crc32c u32 of the records
//	record   uvarint len(key) | uvarint len(value) | key | value
//	trailer  'E' | count u64 | crc32c u32 of all record bytes
//
// The checksum of a trailer covers everything, so blocks cannot be left out or change places.
const (
	streamMagic   = 0x47565353
	streamFormat  = 1
	headerBytes   = 4 + 1 + 2 + 4*8 + 4
	blockBytes    = 1 << 20
	blockBytesMax = 64 << 20 // BOUND: a value is at most this large, so a forged length allocates no more.

	tagBlock = 'B'
	tagEnd   = 'E'
)

// ErrCorrupt means that a stream is not what was written.
var ErrCorrupt = errors.New("snapshot is corrupt")

// Header describes the content of a stream. Index, Term and Digest are those of the state. They may lie before the
// snapshot's own index, because Raft does not pass its own entries to a state machine, so those entries do not change
// the state.
type Header struct {
	Cluster uint64
	Group   uint16
	Index   uint64
	Term    uint64
	Digest  uint64
}

func appendHeader(dst []byte, h Header) []byte {
	start := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, streamMagic)
	dst = append(dst, streamFormat)
	dst = binary.BigEndian.AppendUint16(dst, h.Group)
	for _, v := range []uint64{h.Cluster, h.Index, h.Term, h.Digest} {
		dst = binary.BigEndian.AppendUint64(dst, v)
	}
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// ReadHeader reads and verifies the header of a stream. It returns ErrCorrupt when it is not whole.
func ReadHeader(r io.Reader) (h Header, err error) {
	var b [headerBytes]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return Header{}, fmt.Errorf("%w: header: %w", ErrCorrupt, err)
	}
	body := b[:headerBytes-4]
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(b[headerBytes-4:]) ||
		binary.BigEndian.Uint32(body) != streamMagic || body[4] != streamFormat {
		return Header{}, fmt.Errorf("%w: header", ErrCorrupt)
	}
	return Header{
		Group: binary.BigEndian.Uint16(body[5:]), Cluster: binary.BigEndian.Uint64(body[7:]), Index: binary.BigEndian.Uint64(body[15:]),
		Term: binary.BigEndian.Uint64(body[23:]), Digest: binary.BigEndian.Uint64(body[31:]),
	}, nil
}

// Writer writes a stream.
type Writer struct {
	w     io.Writer
	block []byte
	frame []byte
	count uint64
	sum   uint32
}

// NewWriter writes the header.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	_, err := w.Write(appendHeader(nil, h))
	return &Writer{w: w}, err
}

// Add appends a record. OWNERSHIP: key and value are copied.
func (w *Writer) Add(key, value []byte) error {
	w.block = binary.AppendUvarint(w.block, uint64(len(key)))
	w.block = binary.AppendUvarint(w.block, uint64(len(value)))
	w.block = append(append(w.block, key...), value...)
	w.count++
	if len(w.block) < blockBytes {
		return nil
	}
	return w.flush()
}

func (w *Writer) flush() error {
	if len(w.block) == 0 {
		return nil
	}
	w.sum = crc32.Update(w.sum, castagnoli, w.block)
	w.frame = append(w.frame[:0], tagBlock)
	w.frame = binary.BigEndian.AppendUint32(w.frame, uint32(len(w.block)))
	w.frame = append(w.frame, w.block...)
	w.frame = binary.BigEndian.AppendUint32(w.frame, crc32.Checksum(w.block, castagnoli))
	w.block = w.block[:0]
	_, err := w.w.Write(w.frame)
	return err
}

// End writes the trailer.
func (w *Writer) End() error {
	if err := w.flush(); err != nil {
		return err
	}
	b := binary.BigEndian.AppendUint64([]byte{tagEnd}, w.count)
	_, err := w.w.Write(binary.BigEndian.AppendUint32(b, w.sum))
	return err
}

// Read calls fn for every record after the header and verifies every checksum. It returns fn's error, or ErrCorrupt. fn
// is called with records of verified blocks before the trailer is read, so the caller must undo them when Read fails.
// OWNERSHIP: key and value are valid until fn returns.
func Read(r io.Reader, fn func(key, value []byte) error) error {
	br := bufio.NewReaderSize(r, writeBufferBytes)
	var block []byte
	var count uint64
	var sum uint32
	for {
		tag, err := br.ReadByte()
		switch {
		case err != nil:
			return fmt.Errorf("%w: no trailer: %w", ErrCorrupt, err)
		case tag == tagEnd:
			return readTrailer(br, count, sum)
		case tag != tagBlock:
			return fmt.Errorf("%w: tag %d", ErrCorrupt, tag)
		}
		if block, err = readBlock(br, block); err != nil {
			return err
		}
		sum = crc32.Update(sum, castagnoli, block)
		n, err := records(block, fn)
		if err != nil {
			return err
		}
		count += n
	}
}

func readTrailer(br *bufio.Reader, count uint64, sum uint32) error {
	var b [12]byte
	if _, err := io.ReadFull(br, b[:]); err != nil {
		return fmt.Errorf("%w: trailer: %w", ErrCorrupt, err)
	}
	if binary.BigEndian.Uint64(b[:]) != count || binary.BigEndian.Uint32(b[8:]) != sum {
		return fmt.Errorf("%w: trailer", ErrCorrupt)
	}
	if _, err := br.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: bytes after the trailer", ErrCorrupt)
	}
	return nil
}

func readBlock(br *bufio.Reader, block []byte) ([]byte, error) {
	var b [4]byte
	if _, err := io.ReadFull(br, b[:]); err != nil {
		return nil, fmt.Errorf("%w: block: %w", ErrCorrupt, err)
	}
	length := int(binary.BigEndian.Uint32(b[:]))
	if length > blockBytesMax {
		return nil, fmt.Errorf("%w: block of %d bytes", ErrCorrupt, length)
	}
	if cap(block) < length {
		block = make([]byte, length)
	}
	block = block[:length]
	if _, err := io.ReadFull(br, block); err != nil {
		return nil, fmt.Errorf("%w: block: %w", ErrCorrupt, err)
	}
	if _, err := io.ReadFull(br, b[:]); err != nil {
		return nil, fmt.Errorf("%w: block: %w", ErrCorrupt, err)
	}
	if crc32.Checksum(block, castagnoli) != binary.BigEndian.Uint32(b[:]) {
		return nil, fmt.Errorf("%w: block checksum", ErrCorrupt)
	}
	return block, nil
}

// records calls fn for the records of one verified block.
func records(block []byte, fn func(key, value []byte) error) (count uint64, err error) {
	for len(block) > 0 {
		k, n := binary.Uvarint(block)
		if n <= 0 {
			return 0, fmt.Errorf("%w: record", ErrCorrupt)
		}
		block = block[n:]
		v, n := binary.Uvarint(block)
		if n <= 0 || k > uint64(len(block)-n) || v > uint64(len(block)-n)-k {
			return 0, fmt.Errorf("%w: record", ErrCorrupt)
		}
		block = block[n:]
		if err := fn(block[:k], block[k:k+v]); err != nil {
			return 0, err
		}
		block = block[k+v:]
		count++
	}
	return count, nil
}

// Verify reads the whole snapshot and returns its header, or ErrCorrupt.
func (s *Store) Verify(id string) (Header, error) {
	_, r, err := s.Open(id)
	if err != nil {
		return Header{}, err
	}
	h, err := ReadHeader(r)
	if err == nil {
		err = Read(r, func(_, _ []byte) error { return nil })
	}
	return h, errors.Join(err, r.Close())
}

// Header reads only the header of a snapshot.
func (s *Store) Header(id string) (Header, error) {
	_, r, err := s.Open(id)
	if err != nil {
		return Header{}, err
	}
	h, err := ReadHeader(r)
	return h, errors.Join(err, r.Close())
}
