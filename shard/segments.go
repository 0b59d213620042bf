package shard

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// A segment is a set of keyed user hashes. It is stored in pieces of at most model.SegmentChunkMax hashes, so that the
// size of a record or command does not grow with the segment. The head record holds the number of pieces and the result
// of the last upload, so that a repeated commit gets the same answer. An upload is staged piece by piece and applied in
// one step by its commit, so auctions see all of it or nothing. Advance drops uploads that are not committed.

// BOUND: uploadsMax and piecesMax limit the space of staged pieces. A commit with more pieces would be refused anyway.
const (
	uploadsMax = 64
	piecesMax  = 4 * model.SegmentUsersMax / model.SegmentChunkMax
)

// upload is what memory keeps of a staged upload.
type upload struct {
	hour   uint32 // The hour in which its last piece was staged.
	pieces uint32 // The highest piece number plus 1.
}

// segmentHead is the record in front of the pieces of a segment.
type segmentHead struct {
	pieces uint32
	upload ids.UUID              // The id of the last committed upload.
	result command.SegmentResult // The answer to its commit.
}

func (m *Machine) stageSegment(x *command.StageSegment) command.Result {
	if !isID(x.Segment) || x.Upload.IsZero() || x.Piece >= piecesMax || len(x.Users) == 0 {
		return refused(command.Invalid, 0)
	}
	prefix := prefixStaged(nil, x.Marketplace, x.Segment, x.Upload)
	up, known := m.staged[string(prefix)]
	if !known && len(m.staged) == uploadsMax {
		return refused(command.TooMany, 0)
	}
	up.hour, up.pieces = event.BucketOf(m.state.now), max(up.pieces, x.Piece+1)
	m.staged[string(prefix)] = up
	value := binary.LittleEndian.AppendUint64(nil, uint64(m.state.now)) // Two's complement both ways.
	m.put(appendU32(prefix, x.Piece), command.AppendUsers(value, x.Users))
	return command.Result{}
}

// applyCommitSegment applies a CommitSegment, which is answered by a SegmentResult instead of a Result.
func (m *Machine) applyCommitSegment(c *command.Command) command.SegmentResult {
	x, err := command.ReadCommitSegment(c)
	if err != nil || !m.meta || !isID(x.Segment) || x.Upload.IsZero() || x.Pieces > piecesMax {
		return command.SegmentResult{Refusal: command.Invalid}
	}
	if m.closed(x.OfMarketplace()) {
		return command.SegmentResult{Refusal: command.MarketplaceClosed}
	}
	return m.commitSegment(&x)
}

func (m *Machine) commitSegment(x *command.CommitSegment) command.SegmentResult {
	prefix := prefixSegment(nil, x.Marketplace, x.Segment)
	head := m.segmentHead(prefix)
	if head.upload == x.Upload {
		m.repeated = true
		return head.result
	}
	dynamic := m.dynamicOf(x.Marketplace, x.Segment)
	if dynamic != nil && x.Action != command.SegmentDrop {
		return command.SegmentResult{Refusal: command.WrongState}
	}
	sent, why := m.stagedUsers(x)
	if why != command.Done {
		return command.SegmentResult{Refusal: why}
	}
	before := m.segmentUsers(prefix, head.pieces)
	after, r := combine(before, sent, x.Action)
	if len(after) > model.SegmentUsersMax {
		return command.SegmentResult{Refusal: command.TooMany}
	}
	m.dropStaged(prefixStaged(nil, x.Marketplace, x.Segment, x.Upload))
	m.storeSegment(prefix, head.pieces, after, segmentHead{upload: x.Upload, result: r})
	if x.Action == command.SegmentDrop {
		m.put(pieceKey(prefix, 0), nil)
		m.feed.DeleteSegment(x.Marketplace, x.Segment)
		if dynamic != nil {
			m.feedDynamic(dynamic)
		}
	} else {
		m.feed.PutSegment(x.Marketplace, x.Segment, after)
	}
	m.changed = true
	return r
}

func pieceKey(prefix []byte, piece uint32) []byte { return appendU32(slices.Clip(prefix), piece) }

// stagedUsers concatenates the pieces of an upload. It refuses with NotFound when a piece is missing, and with Invalid
// when the hashes do not ascend over all pieces.
func (m *Machine) stagedUsers(x *command.CommitSegment) (users []uint64, why command.Refusal) {
	prefix := prefixStaged(nil, x.Marketplace, x.Segment, x.Upload)
	for piece := range x.Pieces {
		stored, found := m.get(pieceKey(prefix, piece))
		if !found {
			return nil, command.NotFound
		}
		_, some := must2(readStaged(stored))
		if len(users) > 0 && some[0] <= users[len(users)-1] {
			return nil, command.Invalid
		}
		users = append(users, some...)
	}
	return users, command.Done
}

// segmentUsers reads the pieces of a segment.
func (m *Machine) segmentUsers(prefix []byte, pieces uint32) (users []uint64) {
	for piece := uint32(1); piece <= pieces; piece++ {
		stored, _ := m.get(pieceKey(prefix, piece))
		d := command.NewDecoder(stored)
		users = append(users, must(d.Users(), d.Err())...)
	}
	return users
}

// storeSegment writes a segment in pieces and deletes those beyond its end; pieces is their former number. A piece that
// did not change is not written.
func (m *Machine) storeSegment(prefix []byte, pieces uint32, users []uint64, head segmentHead) {
	for some := range slices.Chunk(users, model.SegmentChunkMax) {
		head.pieces++
		key, value := pieceKey(prefix, head.pieces), command.AppendUsers(nil, some)
		if stored, found := m.get(key); !found || string(stored) != string(value) {
			m.put(key, value)
		}
	}
	for piece := head.pieces + 1; piece <= pieces; piece++ {
		m.put(pieceKey(prefix, piece), nil)
	}
	m.put(pieceKey(prefix, 0), appendSegmentHead(nil, &head))
}

func (m *Machine) segmentHead(prefix []byte) segmentHead {
	stored, found := m.get(pieceKey(prefix, 0))
	if !found {
		return segmentHead{}
	}
	return must(readSegmentHead(stored))
}

// combine applies an upload to a set of user hashes. Both inputs ascend without repeats, and so does the result.
func combine(before, sent []uint64, action command.SegmentAction) (after []uint64, r command.SegmentResult) {
	if action == command.SegmentDrop {
		return nil, command.SegmentResult{Removed: uint32(len(before))} // At most SegmentUsersMax.
	}
	for len(before) > 0 || len(sent) > 0 {
		old := len(sent) == 0 || len(before) > 0 && before[0] <= sent[0]
		fresh := len(before) == 0 || len(sent) > 0 && sent[0] <= before[0]
		var user uint64
		if old {
			user, before = before[0], before[1:]
		}
		if fresh {
			user, sent = sent[0], sent[1:]
		}
		stays := old && (action == command.SegmentAdd || fresh == (action == command.SegmentReplace))
		comes := fresh && !old && action != command.SegmentRemove
		switch {
		case comes:
			r.Added++
		case old && !stays:
			r.Removed++
		}
		if stays || comes {
			after = append(after, user)
		}
	}
	r.Size = uint32(len(after)) // The caller refuses too many.
	return after, r
}

// dropStaged deletes the pieces of an upload.
func (m *Machine) dropStaged(prefix []byte) {
	for piece := range m.staged[string(prefix)].pieces {
		m.put(pieceKey(prefix, piece), nil)
	}
	delete(m.staged, string(prefix))
}

// purgeStaged drops the uploads whose last piece was staged two hours ago or earlier, counted in whole hours.
func (m *Machine) purgeStaged(hour uint32) {
	for _, prefix := range slices.Sorted(maps.Keys(m.staged)) {
		if m.staged[prefix].hour+2 <= hour {
			m.dropStaged([]byte(prefix))
		}
	}
}

// SegmentSize returns the number of users of a segment, 0 when it does not exist.
func (b Queries) SegmentSize(marketplace uint16, id string) int {
	if size, dynamic := b.dynamicSize(segmentID{marketplace, id}); dynamic {
		return size
	}
	return b.UploadedSize(marketplace, id)
}

// UploadedSize returns the number of users who were uploaded to a segment, also when it has become dynamic since.
func (b Queries) UploadedSize(marketplace uint16, id string) int {
	stored, found := b.R.Get(pieceKey(prefixSegment(nil, marketplace, id), 0))
	if !found {
		return 0
	}
	return int(must(readSegmentHead(stored)).result.Size)
}

func appendSegmentHead(dst []byte, h *segmentHead) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, h.pieces)
	dst = append(dst, h.upload[:]...)
	return command.AppendSegmentResult(dst, &h.result)
}

func readSegmentHead(b []byte) (h segmentHead, err error) {
	d := command.NewDecoder(b)
	h.pieces, h.upload = d.U32(), d.UUID()
	h.result, err = command.ReadSegmentResult(d.Rest())
	return h, err
}

func readStaged(b []byte) (millis int64, users []uint64, err error) {
	d := command.NewDecoder(b)
	millis, users = d.I64(), d.Users()
	if len(users) == 0 {
		d.Fail()
	}
	return millis, users, d.Err()
}

func must2[A, B any](a A, b B, err error) (A, B) {
	must(a, err)
	return a, b
}

// loadedSegment is the segment whose pieces Load is reading.
type loadedSegment struct {
	prefix []byte
	pieces uint32 // Number of pieces, by the head record, that are still to be read.
	users  []uint64
}

func (l *loader) loadSegmentPiece(key, value []byte) error {
	if len(key) < 9 {
		return errKey
	}
	piece := binary.BigEndian.Uint32(key[len(key)-4:])
	if piece == 0 {
		if err := l.finishSegment(); err != nil {
			return err
		}
		h, err := readSegmentHead(value)
		l.segment = loadedSegment{prefix: slices.Clone(key[:len(key)-4]), pieces: h.pieces}
		return err
	}
	s := &l.segment
	if s.pieces == 0 || string(s.prefix) != string(key[:len(key)-4]) {
		return errors.New("segment piece without the head of its segment")
	}
	d := command.NewDecoder(value)
	s.users = append(s.users, d.Users()...)
	s.pieces--
	return d.Err()
}

// finishSegment reports a segment to the auctions when all of its pieces are read.
func (l *loader) finishSegment() error {
	s := l.segment
	l.segment = loadedSegment{}
	if s.prefix == nil {
		return nil
	}
	if s.pieces != 0 || !slices.IsSorted(s.users) {
		return errors.New("segment with missing pieces, or with users that do not ascend")
	}
	l.m.feed.PutSegment(binary.BigEndian.Uint16(s.prefix[1:]), string(s.prefix[5:]), s.users)
	return nil
}

func (l *loader) loadStaged(key, value []byte) error {
	if len(key) < 1+2+2+16+4 {
		return errKey
	}
	millis, _, err := readStaged(value)
	prefix, piece := string(key[:len(key)-4]), binary.BigEndian.Uint32(key[len(key)-4:])
	up := l.m.staged[prefix]
	l.m.staged[prefix] = upload{max(up.hour, event.BucketOf(millis)), max(up.pieces, piece+1)}
	return err
}
