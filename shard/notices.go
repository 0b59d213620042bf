package shard

import (
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// noticeBytesMax bounds the notices that a group stores of one marketplace. BOUND: about 30,000 notices, of which the
// leader of the meta group moves some hundred every second. Beyond it a change is made without its notice: a receiver
// that cannot keep up, or a group without a leader, must not keep a marketplace from pausing its campaigns.
const noticeBytesMax = 16 << 20

// storeNotice stores the notice that a command carries. REQUIRES: the command was applied and changed something.
func (m *Machine) storeNotice(n *command.Notice) {
	key := keyNotice(nil, n.Marketplace, n.ID)
	t := m.tenant(n.Marketplace)
	if _, stored := m.get(key); stored || t.noticeBytes+len(n.Value) > noticeBytesMax {
		return
	}
	t.noticeBytes += len(n.Value)
	m.put(key, n.Value)
}

// forgetNotices removes notices. Unknown ones are ignored, so a repeat changes nothing.
func (m *Machine) forgetNotices(f *command.ForgetNotices) command.Result {
	for i := range f.IDs {
		key := keyNotice(nil, f.Marketplace, f.IDs[i])
		if stored, found := m.get(key); found {
			m.tenant(f.Marketplace).noticeBytes -= len(stored)
			m.put(key, nil)
		}
	}
	return command.Result{}
}

func keyNotice(dst []byte, marketplace uint16, id ids.UUID) []byte {
	return append(appendU16(append(dst, tableNotice), marketplace), id[:]...)
}

// StoredNotice is a notice whose delivery is still to be stored.
type StoredNotice struct {
	ID    ids.UUID
	Value []byte
}

// Notices lists stored notices of a marketplace by id, at most limit, and reports whether there are more.
func (b Queries) Notices(marketplace uint16, limit int) ([]StoredNotice, bool) {
	return page(b.R, appendU16([]byte{tableNotice}, marketplace), "", limit, func(id string, value []byte) StoredNotice {
		return StoredNotice{ids.UUID([]byte(id)), append([]byte{}, value...)}
	})
}
