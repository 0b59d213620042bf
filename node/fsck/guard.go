package fsck

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

const guardSector = 512

// checkGuard compares the tail guard with the log. The guard is a file outside of the databases that stores how far the
// log was durable; it must never be ahead of the log. A node whose guard is ahead has lost its newest writes.
//
// Record 1+g of the file is that of group g: two sectors, written alternately, each with its number and a checksum; the
// valid one with the higher number counts.
func (d *directory) checkGuard(r *Report, id uint16, end uint64) {
	place := fmt.Sprintf("group %d, tail guard", id)
	file, err := readFile(d.fs, d.fs.PathJoin(d.dir, "guard"))
	if err != nil {
		r.problem(place, "%v", err)
		return
	}
	from := (1 + int(id)) * 2 * guardSector
	if len(file) < from+2*guardSector {
		r.problem(place, "the file has %d bytes", len(file))
		return
	}
	record := file[from : from+2*guardSector]
	var newest, last uint64
	valid := false
	for _, slot := range [][]byte{record[:guardSector], record[guardSector:]} {
		if seq, index, ok := readSlot(slot, 1+id); ok && seq >= newest {
			newest, last, valid = seq, index, true
		}
	}
	switch {
	case !valid && !bytes.Equal(record, make([]byte, len(record))):
		r.problem(place, "both slots are unreadable")
	case last > end:
		r.problem(place, "entry %d was durable, but log and snapshots end at %d", last, end)
	}
}

func readSlot(b []byte, record uint16) (seq, lastIndex uint64, ok bool) {
	body := b[:guardSector-4]
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(b[guardSector-4:]) ||
		!bytes.HasPrefix(body, []byte("GVGD\x01")) || binary.BigEndian.Uint16(body[6:]) != record {
		return 0, 0, false
	}
	return binary.BigEndian.Uint64(body[16:]), binary.BigEndian.Uint64(body[40:]), true
}
