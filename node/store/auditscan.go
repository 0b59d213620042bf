package store

import (
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// auditScan goes through the audit log of a marketplace, newest first. Each group stores the entries of the changes that its own
// commands made, and the scan merges them. A group is read page by page, so the scan is no snapshot: it misses entries that are
// written behind it, which are newer than it is.
type auditScan struct {
	t     Tenant
	step  int // Entries that are read of a group at once.
	heads []*auditHead
}

// auditHead is how far the scan has come in one group.
type auditHead struct {
	group   ids.Group
	records []shard.StoredRecord // Those that were read and not taken yet.
	after   string               // The position of the last one that was read.
	more    bool                 // The group has more of them.
}

// scanAudit begins a scan after a position, or at the newest entry for an empty one.
func (t Tenant) scanAudit(after string, step int) *auditScan {
	s := &auditScan{t: t, step: step}
	for _, g := range t.store.Groups.Groups() {
		s.heads = append(s.heads, &auditHead{group: g, after: after, more: true})
	}
	return s
}

// next returns the next entry. Two groups have the same entry when the outcome of the first command that carried it was unknown and
// the request went on in another group: then the entry that has the answer is returned, once.
func (s *auditScan) next() (e AuditEntry, found bool, err error) {
	h, err := s.newest()
	if err != nil || h == nil {
		return e, false, err
	}
	e = decoded[AuditEntry](h.take().Value)
	for {
		other, err := s.newest()
		if err != nil || other == nil || other.records[0].ID != e.ListPosition() {
			return e, true, err
		}
		if again := decoded[AuditEntry](other.take().Value); isEmpty(e.After) {
			e = again
		}
	}
}

// isEmpty reports whether a part of an entry was not written. An empty part is stored as null.
func isEmpty(part []byte) bool { return len(part) == 0 || string(part) == "null" }

// newest returns the group whose next entry is the newest of all groups, or nil at the end.
func (s *auditScan) newest() (first *auditHead, err error) {
	for _, h := range s.heads {
		if err := s.fill(h); err != nil {
			return nil, err
		}
		if len(h.records) > 0 && (first == nil || h.records[0].ID < first.records[0].ID) {
			first = h
		}
	}
	return first, nil
}

// fill reads the next entries of a group when all that were read have been taken.
func (s *auditScan) fill(h *auditHead) error {
	if len(h.records) > 0 || !h.more {
		return nil
	}
	got, err := read(s.t, h.group, func(b shard.Queries) (p page[shard.StoredRecord]) {
		p.items, p.more = b.Records(command.RecordAudit, s.t.marketplace, h.after, s.step)
		return p
	})
	if err != nil {
		return err
	}
	if h.records, h.more = got.items, got.more; len(h.records) > 0 {
		h.after = h.records[len(h.records)-1].ID
	}
	return nil
}

// take returns the next entry of a group. REQUIRES: newest has returned the group.
func (h *auditHead) take() shard.StoredRecord {
	r := h.records[0]
	h.records = h.records[1:]
	return r
}
