package shardtest

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/command"
)

// The model keeps all attempts that were ever made. Its two constants must equal those of the machine.
const (
	modelTick = 256    // Turns of an Advance.
	modelKept = 65_536 // Turns for which an attempt is remembered, and within which it must arrive.
)

// sentAttempt is an attempt that was sent.
type sentAttempt struct {
	Step
	seen, turn uint64 // The turns at which it was made and applied.
}

// attempt turns most management commands into attempts.
func (g *Generator) attempt(s Step) Step {
	m := g.Model
	c, err := command.Open(s.Command)
	if err != nil {
		panic(s.Name + ": " + err.Error())
	}
	switch {
	case c.Attempted, s.Result.Refusal == command.TooEarly, g.choose(4, "no attempt") == 0:
		return s
	case c.Op == command.OpEvents, c.Op == command.OpAdvance, c.Op == command.OpSetFeature, c.Op == command.OpPace:
		return s
	}
	g.seq++
	a := command.Attempt{Seen: m.Turn - uint64(min(int(m.Turn), g.choose(2, "on its way")*g.choose(3_000, "turns")))}
	binary.BigEndian.PutUint32(a.ID[:], uint32(g.seq))
	s.Name, s.Command = s.Name+", attempted", command.AppendAttempt(s.Command, a)
	m.advanceTurn(1)
	g.attempted = append(g.attempted, sentAttempt{s, a.Seen, m.Turn})
	return s
}

// repeat sends an attempt again. It gets the first answer, or is refused when the attempt is no longer remembered.
func (g *Generator) repeat() Step {
	if len(g.attempted) == 0 {
		return g.late()
	}
	x := g.attempted[max(0, len(g.attempted)-1-g.choose(12, "which attempt"))]
	s := Step{Name: x.Name + ", repeated", Command: x.Command, Result: x.Result}
	g.Model.Now = g.previousNow // It carries the time at which it was made.
	if g.Model.Turn-x.turn >= modelKept {
		s.Result = refuse(command.Expired, 0)
	}
	return s
}

// late sends an attempt for the first time and too late, or one with a future turn, which is a defect of the proposer.
func (g *Generator) late() Step {
	g.seq++
	m := g.Model
	a, why := command.Attempt{Seen: m.Turn + 1}, command.Invalid
	if m.Turn > modelKept {
		a.Seen, why = m.Turn-modelKept-1, command.Expired
	}
	binary.BigEndian.PutUint32(a.ID[:], uint32(g.seq)) // Small.
	x := command.DeleteCatalog{Marketplace: g.market(), Products: []string{"p0"}}
	return Step{
		Name: "late", Command: command.AppendAttempt(command.AppendDeleteCatalog(nil, g.now, &x), a), Result: refuse(why, 0),
	}
}

// Pause returns an Advance that the caller applies ticks times in a row, as the leader of an idle group does.
func (g *Generator) Pause(ticks int) []byte {
	g.Model.Now = max(g.Model.Now, g.now)
	for range ticks {
		g.Model.Advance(&command.Advance{})
	}
	return command.AppendAdvance(nil, g.now, &command.Advance{})
}

func (m *Model) advanceTurn(turns uint64) {
	m.Turn += turns
}
