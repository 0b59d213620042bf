package command

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// StageSegment stages one piece of an upload. Pieces are numbered from 0, and the users of all pieces together ascend
// without repeats; the proposer sorts them. An upload that is not committed is dropped one to two hours after its last
// piece.
type StageSegment struct {
	Marketplace uint16
	Segment     string   // External id of the segment.
	Upload      ids.UUID // The same id in all pieces and in the commit.
	Piece       uint32
	Users       []uint64 // Keyed hashes of user ids, at most model.SegmentChunkMax.
}

// SegmentAction is what an upload does to a segment.
type SegmentAction uint8

// The actions. Append only.
const (
	SegmentAdd SegmentAction = iota
	SegmentRemove
	SegmentReplace
	SegmentDrop // Deletes the segment; the upload has no pieces.
	segmentActions
)

// CommitSegment applies the pieces of an upload in one step. A repeat gets the same answer, except that a repeated
// SegmentDrop reports that nothing was removed.
type CommitSegment struct {
	Marketplace uint16
	Segment     string
	Upload      ids.UUID
	Pieces      uint32 // Number of pieces; refused as NotFound unless all of them are staged.
	Action      SegmentAction
}

// AppendStageSegment appends a StageSegment.
func AppendStageSegment(dst []byte, nowMillis int64, x *StageSegment) []byte {
	dst, at := begin(dst, OpStageSegment, nowMillis, len(x.Users))
	dst = binary.LittleEndian.AppendUint16(dst, x.Marketplace)
	dst = AppendText(dst, x.Segment)
	dst = append(dst, x.Upload[:]...)
	dst = binary.LittleEndian.AppendUint32(dst, x.Piece)
	return seal(AppendUsers(dst, x.Users), at)
}

// ReadStageSegment reads a StageSegment. It fails when the users do not ascend.
func ReadStageSegment(c *Command) (x StageSegment, err error) {
	d := NewDecoder(c.body)
	x = StageSegment{Marketplace: d.U16(), Segment: d.Text(), Upload: d.UUID(), Piece: d.U32()}
	if c.Count > model.SegmentChunkMax || uint64(len(d.rest)) != 8*uint64(c.Count) {
		d.Fail()
	}
	x.Users = d.Users()
	return x, d.Err()
}

var commitSegments = newTable("commit segment",
	fixed("marketplace", u16[uint16](), func(x *CommitSegment) *uint16 { return &x.Marketplace }),
	fixed("segment", text, func(x *CommitSegment) *string { return &x.Segment }),
	fixed("upload", uuid, func(x *CommitSegment) *ids.UUID { return &x.Upload }),
	fixed("pieces", u32[uint32](), func(x *CommitSegment) *uint32 { return &x.Pieces }),
	fixed("action", enum[SegmentAction](int(segmentActions)), func(x *CommitSegment) *SegmentAction { return &x.Action }),
)

// AppendCommitSegment appends a CommitSegment.
func AppendCommitSegment(dst []byte, nowMillis int64, x *CommitSegment) []byte {
	return appendCommand(dst, OpCommitSegment, nowMillis, commitSegments, x)
}

// ReadCommitSegment reads a CommitSegment.
func ReadCommitSegment(c *Command) (CommitSegment, error) { return readCommand(c, commitSegments) }

// AppendUsers appends user hashes so that Decoder.Users reads them. They must be the end of the encoding.
func AppendUsers(dst []byte, users []uint64) []byte {
	for _, u := range users {
		dst = binary.LittleEndian.AppendUint64(dst, u)
	}
	return dst
}

// Users reads all remaining bytes as user hashes, which must ascend without repeats; nil when there are none.
func (d *Decoder) Users() []uint64 {
	if len(d.rest)%8 != 0 {
		d.Fail()
		return nil
	}
	if len(d.rest) == 0 {
		return nil
	}
	users := make([]uint64, len(d.rest)/8)
	for i := range users {
		if users[i] = d.U64(); i > 0 && users[i] <= users[i-1] {
			d.Fail()
			return nil
		}
	}
	return users
}

// AppendSegmentResult appends the answer to a CommitSegment. The answer to a refused one is encoded as a Result.
func AppendSegmentResult(dst []byte, r *SegmentResult) []byte {
	if r.Refusal != Done {
		return AppendResult(dst, &Result{Refusal: r.Refusal})
	}
	dst = append(dst, byte(r.Refusal))
	for _, n := range [...]uint32{r.Added, r.Removed, r.Size} {
		dst = binary.LittleEndian.AppendUint32(dst, n)
	}
	return dst
}

// ReadSegmentResult reads the answer to a CommitSegment.
func ReadSegmentResult(b []byte) (SegmentResult, error) {
	d := NewDecoder(b)
	if why := Refusal(d.U8()); why != Done {
		r, err := ReadResult(b)
		return SegmentResult{Refusal: r.Refusal}, err
	}
	r := SegmentResult{Added: d.U32(), Removed: d.U32(), Size: d.U32()}
	return r, d.Err()
}
