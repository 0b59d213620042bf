package fsck

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// snapshotFile is a snapshot that passed all checks.
type snapshotFile struct {
	name, path string
	raftIndex  uint64 // Index of the snapshot; its state may be some entries older.
	header     streamHeader
}

type streamHeader struct {
	group                        uint16
	cluster, index, term, digest uint64
}

func (h *streamHeader) applied() applied { return applied{h.index, h.term, h.digest} }

// readSnapshots verifies every snapshot of a group completely and returns the good ones, oldest first.
func (d *directory) readSnapshots(r *Report, id uint16) (all []snapshotFile) {
	dir := d.fs.PathJoin(d.dir, "snapshots", strconv.Itoa(int(id)))
	names, err := d.fs.List(dir)
	if err != nil {
		return nil // No snapshot has been taken.
	}
	slices.Sort(names) // A name begins with the index in hexadecimal.
	for _, name := range names {
		if whole, unfinished := strings.CutSuffix(name, ".tmp"); unfinished {
			r.note("group %d: snapshot %s was not finished; the next start removes it", id, whole)
			continue
		}
		s, err := d.readSnapshot(id, name)
		if err != nil {
			r.problem(fmt.Sprintf("group %d, snapshot %s", id, name), "%v", err)
			continue
		}
		all = append(all, s)
	}
	return all
}

func (d *directory) readSnapshot(id uint16, name string) (s snapshotFile, err error) {
	path := d.fs.PathJoin(d.dir, "snapshots", strconv.Itoa(int(id)), name)
	s = snapshotFile{name: name, path: d.fs.PathJoin(path, "state")}
	meta, err := readFile(d.fs, d.fs.PathJoin(path, "meta.json"))
	if err != nil {
		return s, err
	}
	size, index, err := readMeta(meta, name)
	if err != nil {
		return s, err
	}
	s.raftIndex = index
	info, err := d.fs.Stat(s.path)
	if err != nil {
		return s, err
	}
	if info.Size() != size {
		return s, fmt.Errorf("its state has %d bytes instead of %d", info.Size(), size)
	}
	var digest uint64
	var scratch []byte
	s.header, err = d.readStream(s.path, func(key, value []byte) {
		if key[0] != tableHeader && key[0] != tableReplication {
			scratch = appendRecord(scratch[:0], key, value)
			digest ^= xxhash.Sum64(scratch)
		}
	})
	h := &s.header
	switch {
	case err != nil:
		return s, err
	case h.group != id || !d.identity.is(h.cluster):
		return s, fmt.Errorf("it belongs to cluster %016x, group %d", h.cluster, h.group)
	case h.digest != digest:
		return s, fmt.Errorf("its records have digest %016x, its header says %016x", digest, h.digest)
	}
	return s, nil // The state may be ahead of the snapshot: a restart reads entries again that it contains.
}

// readMeta checks the description of a snapshot: {"Meta": ..., "CRC": checksum of Meta as written}.
func readMeta(b []byte, name string) (size int64, index uint64, err error) {
	var file struct {
		Meta json.RawMessage
		CRC  uint32
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return 0, 0, fmt.Errorf("its description: %w", err)
	}
	var meta struct {
		ID    string
		Index uint64
		Size  int64
	}
	if crc32.Checksum(file.Meta, castagnoli) != file.CRC {
		return 0, 0, errors.New("its description fails its checksum")
	}
	if err := json.Unmarshal(file.Meta, &meta); err != nil {
		return 0, 0, fmt.Errorf("its description: %w", err)
	}
	if meta.ID != name {
		return 0, 0, fmt.Errorf("its description belongs to %s", meta.ID)
	}
	return meta.Size, meta.Index, nil
}

// source reads the records of a snapshot like those of a state.
func (s *snapshotFile) source(d *directory) source {
	return func(from, to []byte, fn func(key, value []byte)) error {
		_, err := d.readStream(s.path, func(key, value []byte) {
			if bytes.Compare(key, from) >= 0 && bytes.Compare(key, to) < 0 {
				fn(key, value)
			}
		})
		return err
	}
}

// readStream reads a snapshot's records; see DESIGN.md for its form. Records of a block are seen before the blocks behind
// it are verified.
func (d *directory) readStream(path string, fn func(key, value []byte)) (h streamHeader, err error) {
	f, err := d.fs.Open(path)
	if err != nil {
		return h, err
	}
	h, err = decodeStream(bufio.NewReaderSize(f, 1<<20), fn)
	return h, errors.Join(err, f.Close())
}

var errStream = errors.New("its state is damaged")

// blockMax bounds the allocation for a block. BOUND: the length in a damaged file may be any number.
const blockMax = 64 << 20

func decodeStream(in io.Reader, fn func(key, value []byte)) (h streamHeader, err error) {
	const headerBytes = 4 + 1 + 2 + 4*8 + 4
	var b [headerBytes]byte
	if _, err := io.ReadFull(in, b[:]); err != nil {
		return h, fmt.Errorf("%w: header: %w", errStream, err)
	}
	body := b[:headerBytes-4]
	if !bytes.HasPrefix(body, []byte("GVSS\x01")) || crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(b[headerBytes-4:]) {
		return h, fmt.Errorf("%w: header", errStream)
	}
	h = streamHeader{
		binary.BigEndian.Uint16(body[5:]), binary.BigEndian.Uint64(body[7:]), binary.BigEndian.Uint64(body[15:]),
		binary.BigEndian.Uint64(body[23:]), binary.BigEndian.Uint64(body[31:]),
	}
	var count uint64
	var sum uint32
	var tag [1]byte
	for {
		if _, err := io.ReadFull(in, tag[:]); err != nil {
			return h, fmt.Errorf("%w: it ends too early: %w", errStream, err)
		}
		if tag[0] == 'E' {
			return h, decodeTrailer(in, count, sum)
		}
		block, err := decodeBlock(in, tag[0])
		if err != nil {
			return h, fmt.Errorf("%w: after record %d: %w", errStream, count, err)
		}
		sum = crc32.Update(sum, castagnoli, block)
		r := reader{rest: block}
		for len(r.rest) > 0 && !r.bad {
			k, v := r.uvarint(), r.uvarint()
			key, value := r.take(k), r.take(v)
			if count++; r.bad || len(key) == 0 {
				return h, fmt.Errorf("%w: record %d", errStream, count)
			}
			fn(key, value)
		}
	}
}

func decodeBlock(in io.Reader, tag byte) ([]byte, error) {
	if tag != 'B' {
		return nil, fmt.Errorf("a block of kind %q", tag)
	}
	var b [4]byte
	if _, err := io.ReadFull(in, b[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(b[:])
	if size > blockMax {
		return nil, fmt.Errorf("a block of %d bytes", size)
	}
	block, err := io.ReadAll(io.LimitReader(in, int64(size)))
	if err == nil && len(block) < int(size) {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		_, err = io.ReadFull(in, b[:])
	}
	if err != nil {
		return nil, err
	}
	if crc32.Checksum(block, castagnoli) != binary.BigEndian.Uint32(b[:]) {
		return nil, errors.New("a block fails its checksum")
	}
	return block, nil
}

func decodeTrailer(in io.Reader, count uint64, sum uint32) error {
	var b [12]byte
	if _, err := io.ReadFull(in, b[:]); err != nil {
		return fmt.Errorf("%w: trailer: %w", errStream, err)
	}
	if binary.BigEndian.Uint64(b[:]) != count || binary.BigEndian.Uint32(b[8:]) != sum {
		return fmt.Errorf("%w: trailer", errStream)
	}
	if n, err := in.Read(b[:1]); n != 0 || !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: bytes follow its trailer", errStream)
	}
	return nil
}
