package command

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/ids"
)

// Notice is a message to a webhook about a change of a campaign or of bids. The command that makes the change carries
// it, and Apply stores it in the same batch: so a change never lacks its notice, and a refused or repeated command
// leaves none, whatever stops between the commit and the answer. Webhooks belong to the meta group and campaigns to
// the others, so the leader moves stored notices into the list of deliveries and then removes them with ForgetNotices.
//
// A notice is encoded as a flag in the header and as bytes at the end of the body, in front of those of an Attempt:
// marketplace u16, id 16 bytes, value, length of the value u32.
type Notice struct {
	Marketplace uint16
	ID          ids.UUID // Not zero. A group stores one notice of an id.
	Value       []byte   // Opaque to the engine; 1 to NoticeMax bytes.
}

// NoticeMax is the most bytes of a notice's value. BOUND: a notice names up to 5,000 bids of 39 bytes each.
const NoticeMax = 256 << 10

const (
	flagNotice = 2
	noticeLen  = 2 + 16 + 4 // Bytes of a notice beside its value.
)

// AppendNotice makes a command carry a notice. REQUIRES: the command changes campaigns or bids, carries no AuditEntry and
// is no attempt yet. OWNERSHIP: the result reuses the memory of cmd.
func AppendNotice(cmd []byte, n *Notice) []byte {
	cmd[flagsAt] |= flagNotice
	cmd[levelAt] = max(cmd[levelAt], byte(LevelNotices))
	cmd = binary.LittleEndian.AppendUint16(cmd, n.Marketplace)
	cmd = append(append(cmd, n.ID[:]...), n.Value...)
	return seal(binary.LittleEndian.AppendUint32(cmd, clampU32(len(n.Value))), 0)
}

// mayCarryNotice reports whether commands of a kind may carry a notice.
func (op Op) mayCarryNotice() bool {
	switch op {
	case OpCreateCampaign, OpPatchCampaign, OpPutBids, OpPatchBid:
		return true
	default:
		return false
	}
}

// splitNotice splits the notice off the end of a body. ok is false when the body does not end with one.
func splitNotice(body []byte) (rest []byte, n *Notice, ok bool) {
	if len(body) < noticeLen {
		return nil, nil, false
	}
	size := uint64(binary.LittleEndian.Uint32(body[len(body)-4:]))
	if size == 0 || size > NoticeMax || size > uint64(len(body)-noticeLen) {
		return nil, nil, false
	}
	at := len(body) - noticeLen - int(size) // Compared.
	n = &Notice{
		Marketplace: binary.LittleEndian.Uint16(body[at:]), ID: ids.UUID(body[at+2 : at+18]), Value: body[at+18 : len(body)-4],
	}
	return body[:at:at], n, !n.ID.IsZero()
}

// ForgetNotices removes notices, once their deliveries are stored. Unknown ids are ignored.
type ForgetNotices struct {
	Marketplace uint16
	IDs         []ids.UUID
}

var (
	forgetNotices = newTable("forget notices",
		fixed("marketplace", u16[uint16](), func(f *ForgetNotices) *uint16 { return &f.Marketplace }),
		fixed("ids", list(noticeIDs, unbounded), func(f *ForgetNotices) *[]ids.UUID { return &f.IDs }),
	)
	noticeIDs = newTable("notice id", fixed("id", uuid, func(id *ids.UUID) *ids.UUID { return id }))
)

// AppendForgetNotices appends a ForgetNotices.
func AppendForgetNotices(dst []byte, nowMillis int64, f *ForgetNotices) []byte {
	return appendCommand(dst, OpForgetNotices, nowMillis, forgetNotices, f)
}

// ReadForgetNotices reads a ForgetNotices.
func ReadForgetNotices(c *Command) (ForgetNotices, error) { return readCommand(c, forgetNotices) }
