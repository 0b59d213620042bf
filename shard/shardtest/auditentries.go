package shardtest

import (
	"fmt"
	"math"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
)

// audit makes some commands carry an entry of the audit log, sometimes one with the id of another. changed says whether
// the command changed something, if it was not refused.
func (g *Generator) audit(s Step, marketplace uint16, changed bool) Step {
	if g.Model.Level < command.LevelAuditEntries || s.Result.Refusal == command.TooEarly || g.choose(3, "audit entry") > 0 {
		return s
	}
	g.seq++
	e := command.AuditEntry{
		Marketplace: marketplace, Value: fmt.Append(nil, "entry ", g.seq),
		ID: fmt.Sprintf("a%06d", g.seq-g.choose(3, "same entry")*g.choose(40, "which entry")),
	}
	s.Name, s.Command = s.Name+", with an audit entry", command.AppendAuditEntry(s.Command, &e)
	if changed && s.Result.Refusal == command.Done {
		g.Model.Entries[Name{command.RecordAudit, e.Marketplace, e.ID}] = string(e.Value)
	}
	return s
}

func (m *Model) compareAuditEntries(b shard.Queries, fail func(string, ...any)) {
	stored := 0
	for marketplace := uint16(1); marketplace <= 2; marketplace++ {
		all, _ := b.Records(command.RecordAudit, marketplace, "", math.MaxInt)
		stored += len(all)
		for _, got := range all {
			if want := m.Entries[Name{command.RecordAudit, marketplace, got.ID}]; want != string(got.Value) {
				fail("audit entry %s of %d is %q, not %q", got.ID, marketplace, got.Value, want)
			}
		}
	}
	if stored != len(m.Entries) {
		fail("%d audit entries, not %d", stored, len(m.Entries))
	}
}
