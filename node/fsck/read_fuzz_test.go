package fsck

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"
)

// FuzzDecoders passes arbitrary bytes to every decoder. They may return an error; they must not panic, nor report more
// data than there is.
func FuzzDecoders(f *testing.F) {
	f.Add(make([]byte, lineBody+16))
	f.Add([]byte{2, 4, 6, 8, 10, 12, 14})
	f.Add(append([]byte{1}, make([]byte, 28)...))
	f.Add([]byte("GVSS\x01"))
	f.Add(seal([]byte{1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 20}, make([]byte, 20)))
	f.Add([]byte(`{"Meta":{"ID":"x","Index":1,"Size":2},"CRC":0}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		readHead(b)
		readWallet(b)
		readBudget(b)
		readCampaign(b)
		readCounts(b)
		readReversal(b)
		emptyGroupCheck().addReversal(append([]byte{tableReversal}, b...), b)
		if l, ok := readLine(1, b); ok && (len(b) != lineBody+16 || !bytes.Equal(l.chain[:], b[lineBody:])) {
			t.Errorf("a line of %d bytes", len(b))
		}
		decodeApplied(b)
		if e, ok := readEntry(b); ok && len(e.data) > len(b) {
			t.Error("an entry longer than its bytes")
		}
		if n, _ := readCommands(b); n > int64(len(b)) {
			t.Errorf("%d commands in %d bytes", n, len(b))
		}
		_, _, _ = readMeta(b, "x")
		if len(b) >= guardSector {
			readSlot(b[:guardSector], 1)
		}
		seen := 0
		_, _ = decodeStream(bytes.NewReader(b), func(key, value []byte) { seen += len(key) + len(value) })
		if seen > len(b) {
			t.Errorf("%d bytes of records in %d", seen, len(b))
		}
		for table := range byte(tableLast + 2) {
			check := emptyGroupCheck()
			check.record(append([]byte{table}, b[:min(len(b), 24)]...), b)
		}
	})
}

func emptyGroupCheck() *groupCheck { return newGroupCheck(&Report{}, &Group{}, "group") }

func seal(head, body []byte) []byte {
	b := slices.Concat(head, body)
	binary.BigEndian.PutUint32(b[1:], crc32.Checksum(b[5:], castagnoli))
	return b
}
