package command

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/market"
)

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
	if c.Count > market.SegmentChunkMax || uint64(len(d.rest)) != 8*uint64(c.Count) {
		d.Fail()
	}
	x.Users = d.Users()
	return x, d.Err()
}

// AppendCommitSegment appends a CommitSegment.
func AppendCommitSegment(dst []byte, nowMillis int64, x *CommitSegment) []byte {
	dst, at := begin(dst, OpCommitSegment, nowMillis, 0)
	dst = binary.LittleEndian.AppendUint16(dst, x.Marketplace)
	dst = AppendText(dst, x.Segment)
	dst = append(dst, x.Upload[:]...)
	dst = binary.LittleEndian.AppendUint32(dst, x.Pieces)
	return seal(append(dst, byte(x.Action)), at)
}

// ReadCommitSegment reads a CommitSegment.
func ReadCommitSegment(c *Command) (x CommitSegment, err error) {
	d := NewDecoder(c.body)
	x = CommitSegment{
		Marketplace: d.U16(), Segment: d.Text(), Upload: d.UUID(), Pieces: d.U32(),
		Action: SegmentAction(d.Enum(uint8(segmentActions))),
	}
	return x, d.Err()
}

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
