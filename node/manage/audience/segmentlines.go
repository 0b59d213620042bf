package audience

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/gavel-ads/gavel/shard/model"
)

const (
	lineMax = 90 // BOUND: characters of an opaqueUserId. It is the interface's.
	readMax = 4 << 10
)

// errTooMany means that a list has more distinct users than a segment may have.
var errTooMany = errors.New("more than 1,000,000 distinct users")

// users reads a list of users, one id in each line. It stores only hashes, and sorts and deduplicates them whenever there are twice as
// many as a segment may have. So a list of 64 MiB takes 16 MB, whatever it contains.
type users struct {
	hash     func(id []byte) uint64
	hashes   []uint64
	received int // Lines that are not blank, without the header.
	rejected int
}

// read reads a whole list. Its error is that of the reader, or errTooMany.
func (u *users) read(from io.Reader) error {
	lines := bufio.NewReaderSize(from, readMax)
	for first := true; ; first = false {
		line, err := lines.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = lines.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if first {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if full := u.line(line, first, long); full != nil {
			return full
		}
		if err != nil {
			return u.deduplicate()
		}
	}
}

// line handles one line. If the line is longer than readMax, long is true and the content is not meaningful.
func (u *users) line(line []byte, first, long bool) error {
	line = bytes.TrimSpace(line)
	switch {
	case len(line) == 0 && !long:
		return nil
	case first && !long && (string(line) == "user_id" || string(line) == "opaqueUserId"):
		return nil
	}
	u.received++
	if long || !utf8.Valid(line) || utf8.RuneCount(line) > lineMax || bytes.ContainsAny(line, "@,;\t") {
		u.rejected++
		return nil
	}
	u.hashes = append(u.hashes, u.hash(line))
	if len(u.hashes) == 2*model.SegmentUsersMax {
		return u.deduplicate()
	}
	return nil
}

// deduplicate sorts the hashes and removes repeats.
func (u *users) deduplicate() error {
	slices.Sort(u.hashes)
	u.hashes = slices.Compact(u.hashes)
	if len(u.hashes) > model.SegmentUsersMax {
		return errTooMany
	}
	return nil
}
