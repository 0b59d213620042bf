package shard

import (
	"slices"

	"github.com/gavel-ads/gavel/shard/command"
)

// Entries of the audit log are records of the kind RecordAudit. The meta group stores those of its own records as every
// record. From LevelAuditEntries on a management command carries the entry of its request (command.AuditEntry), and each
// group stores what its own commands carry: the log of a marketplace is that of all groups together. A group other than
// the meta group has no other records.

// storeCarried stores what a command carries: a notice and an entry of the audit log. A command that was refused, or
// that changed nothing because it is a repeat, leaves neither.
func (m *Machine) storeCarried(c *command.Command, r command.Refusal) {
	if r != command.Done || m.repeated {
		return
	}
	if c.Notice != nil {
		m.storeNotice(c.Notice)
	}
	if c.Entry != nil {
		m.storeAuditEntry(c.Entry)
	}
}

// storeAuditEntry stores an entry as a record of this group. One with its id is replaced.
func (m *Machine) storeAuditEntry(e *command.AuditEntry) {
	m.state.lastVersion++
	t := m.begin()
	_ = t.putRecord(&command.Record{ // It is refused for nothing: it expects no version and counts towards no bound.
		Kind: command.RecordAudit, Marketplace: e.Marketplace, ID: e.ID, Value: e.Value, Expect: command.Any,
	}, m.state.lastVersion)
	t.commit()
}

// putCarriedRecords applies a PutRecords if the group carries all of its records.
func (m *Machine) putCarriedRecords(p *command.PutRecords) command.Result {
	if !m.carriesRecords(p.Records) {
		return refused(command.Invalid, 0)
	}
	if i, found := m.closedRecord(p.Records); found {
		return refused(command.MarketplaceClosed, i)
	}
	return m.putRecords(p)
}

// carriesRecords reports whether the group may store some records: the meta group all, the others entries of the audit
// log, which are completed and pruned where their commands were applied.
func (m *Machine) carriesRecords(all []command.Record) bool {
	if m.meta {
		return true
	}
	return m.state.level >= command.LevelAuditEntries &&
		!slices.ContainsFunc(all, func(r command.Record) bool { return r.Kind != command.RecordAudit })
}

// feedRecord shows a record to the auctions; nil as value that it was deleted. Entries of the audit log are left out:
// every change makes one, and no auction reads them.
func (m *Machine) feedRecord(kind command.RecordKind, marketplace uint16, id string, value []byte) {
	if kind == command.RecordAudit {
		return
	}
	m.feed.PutRecord(kind, marketplace, id, value)
	m.changed = true
}
