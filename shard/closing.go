package shard

import "github.com/gavel-ads/gavel/shard/command"

// A marketplace moves to another cell with a backup: it is closed here, and opened where the backup was restored. Each group
// closes it at one entry of its log. A backup that was taken after that has all that was ever accepted here; so a request that
// is refused here and repeated there is recorded once, and one that is repeated after its answer was lost is a duplicate there.
//
// INVARIANT: while a marketplace is closed in a group, no command changes its money, catalog, campaigns, segments, users or
// settings there, nor records of its resources. What follows from what is stored, such as the pruning of old days, goes on; nobody
// is told of it, and the other cell does it with its own copy. So do records that belong to the cell itself (isKeptUp).

// ofMarketplace is a command on the data of one marketplace.
type ofMarketplace[T any] interface {
	*T
	OfMarketplace() uint16
}

// applyIfOpen is applyIfCarried for a command on the data of a marketplace; it refuses it while the marketplace is closed.
func applyIfOpen[T any, P ofMarketplace[T]](
	m *Machine, carried bool, c *command.Command, read func(*command.Command) (T, error), do func(*T) command.Result,
) command.Result {
	return applyIfCarried(carried, c, read, func(x *T) command.Result {
		if m.closed(P(x).OfMarketplace()) {
			return refused(command.MarketplaceClosed, 0)
		}
		return do(x)
	})
}

// closed reports whether a marketplace is closed in this group.
func (m *Machine) closed(marketplace uint16) bool {
	t := m.marketplaces[marketplace]
	return t != nil && t.closed
}

// isKeptUp reports whether records of a kind are written in closed marketplaces, too: they say what a node has done, what was
// answered, and who may use the console of this cell.
func isKeptUp(k command.RecordKind) bool {
	switch k {
	case command.RecordAudit, command.RecordAnswer, command.RecordJob, command.RecordScheduledTask, command.RecordDelivery,
		command.RecordConsoleUser, command.RecordConsoleUserIndex, command.RecordLoginSession, command.RecordMarketplace:
		return true
	default:
		return false
	}
}

// closedRecord returns the first of some records that its marketplace cannot change because it is closed.
func (m *Machine) closedRecord(all []command.Record) (index int, found bool) {
	for i := range all {
		if !isKeptUp(all[i].Kind) && m.closed(all[i].Marketplace) {
			return i, true
		}
	}
	return 0, false
}

// skipsClosed returns a function that reports whether a marketplace is closed, for one reading of the state.
func (b Queries) skipsClosed() func(marketplace uint16) bool {
	known := make(map[uint16]bool)
	return func(marketplace uint16) bool {
		closed, asked := known[marketplace]
		if !asked {
			x, _ := b.Marketplace(marketplace)
			closed = x.Closed()
			known[marketplace] = closed
		}
		return closed
	}
}
