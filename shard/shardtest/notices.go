package shardtest

import (
	"fmt"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Noticed identifies a stored notice.
type Noticed struct {
	Market uint16
	ID     ids.UUID
}

// notify makes some commands carry a notice, sometimes one with the id of another. changed says whether the command
// made something that was not there, or changed something, if it was not refused.
func (g *Generator) notify(s Step, marketplace uint16, changed bool) Step {
	if g.Model.Level < command.LevelNotices || g.choose(3, "notice") > 0 {
		return s
	}
	n := command.Notice{Marketplace: marketplace, ID: g.noticeID(), Value: fmt.Append(nil, "notice ", g.seq)}
	s.Name, s.Command = s.Name+", with a notice", command.AppendNotice(s.Command, &n)
	of := Noticed{n.Marketplace, n.ID}
	if _, stored := g.Model.Notices[of]; changed && !stored && s.Result.Refusal == command.Done {
		g.Model.Notices[of] = string(n.Value)
	}
	return s
}

// noticeID is the id of a notice: new, or one that was used before.
func (g *Generator) noticeID() ids.UUID {
	g.seq++
	return g.id('n', g.seq-g.choose(3, "same notice")*g.choose(40, "which notice"))
}

// forgetNotices removes notices, some of which do not exist.
func (g *Generator) forgetNotices() Step {
	if g.Model.Level < command.LevelNotices {
		return g.records()
	}
	f := command.ForgetNotices{Marketplace: g.market()}
	for range g.choose(4, "notices") {
		f.IDs = append(f.IDs, g.noticeID())
	}
	for n := range 40 {
		id := g.id('n', max(1, g.seq-n))
		if _, stored := g.Model.Notices[Noticed{f.Marketplace, id}]; stored {
			f.IDs = append(f.IDs, id)
			break
		}
	}
	for _, id := range f.IDs {
		delete(g.Model.Notices, Noticed{f.Marketplace, id})
	}
	return Step{Name: "forget notices", Command: command.AppendForgetNotices(nil, g.now, &f)}
}

func (m *Model) compareNotices(b shard.Queries, fail func(string, ...any)) {
	stored := 0
	for marketplace := uint16(1); marketplace <= 2; marketplace++ {
		all, more := b.Notices(marketplace, len(m.Notices))
		if stored += len(all); more {
			fail("marketplace %d has more than %d notices", marketplace, len(m.Notices))
		}
		for _, got := range all {
			if want := m.Notices[Noticed{marketplace, got.ID}]; want != string(got.Value) {
				fail("notice %v of %d is %q, not %q", got.ID, marketplace, got.Value, want)
			}
		}
	}
	if stored != len(m.Notices) {
		fail("%d notices, not %d", stored, len(m.Notices))
	}
}
