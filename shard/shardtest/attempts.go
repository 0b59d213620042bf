package shardtest

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/command"
)

// The model of attempts: a list of all that were ever made, and the two numbers that the words of command.Attempt leave
// open.
const (
	modelTick = 256    // Turns of an Advance.
	modelKept = 65_536 // Turns for which an attempt is remembered, and may be on its way.
)

// tried is an attempt that was sent.
type tried struct {
	Step
	seen, turn uint64 // When it was made, and when it was applied.
}

// attempt lets a management command be an attempt, mostly.
func (g *Generator) attempt(s Step) Step {
	m := g.Model
	c, err := command.Open(s.Command)
	if err != nil {
		panic(s.Name + ": " + err.Error())
	}
	switch {
	case m.Level < command.LevelAttempts, c.Attempted, s.Result.Refusal == command.TooEarly, g.dice(4, "no attempt") == 0:
		return s
	case c.Op == command.OpEvents, c.Op == command.OpAdvance, c.Op == command.OpSetFeature:
		return s
	}
	g.seq++
	a := command.Attempt{Seen: m.Turn - uint64(min(int(m.Turn), g.dice(2, "on its way")*g.dice(3_000, "turns")))} //nolint:gosec // small.
	binary.BigEndian.PutUint32(a.ID[:], uint32(g.seq))                                                            //nolint:gosec // small.
	s.Name, s.Command = s.Name+", attempted", command.AppendAttempt(s.Command, a)
	m.pass(1)
	g.tried = append(g.tried, tried{s, a.Seen, m.Turn})
	return s
}

// repeat sends an attempt again. It is answered as it was, or refused when that is forgotten.
func (g *Generator) repeat() Step {
	if len(g.tried) == 0 {
		return g.late()
	}
	x := g.tried[max(0, len(g.tried)-1-g.dice(12, "which attempt"))]
	s := Step{Name: x.Name + ", repeated", Command: x.Command, Result: x.Result}
	g.Model.Now = g.was // It bears the time of its making.
	if g.Model.Turn-x.turn >= modelKept {
		s.Result = refuse(command.Expired, 0)
	}
	return s
}

// late sends an attempt for the first time, and too late; or one of the future, which is a defect.
func (g *Generator) late() Step {
	g.seq++
	m := g.Model
	a, why := command.Attempt{Seen: m.Turn + 1}, command.Invalid
	if m.Turn > modelKept {
		a.Seen, why = m.Turn-modelKept-1, command.Expired
	}
	if m.Level < command.LevelAttempts {
		why = command.TooEarly
	}
	binary.BigEndian.PutUint32(a.ID[:], uint32(g.seq)) //nolint:gosec // small.
	x := command.DeleteCatalog{Marketplace: g.market(), Products: []string{"p0"}}
	return Step{
		Name: "late", Command: command.AppendAttempt(command.AppendDeleteCatalog(nil, g.now, &x), a), Result: refuse(why, 0),
	}
}

// Pause makes a command that is to be applied so many times in a row: the clock of a leader that nobody asks for
// anything.
func (g *Generator) Pause(ticks int) []byte {
	g.Model.Now = max(g.Model.Now, g.now)
	for range ticks {
		g.Model.Advance(&command.Advance{})
	}
	return command.AppendAdvance(nil, g.now, &command.Advance{})
}

func (m *Model) pass(turns uint64) {
	if m.Level >= command.LevelAttempts {
		m.Turn += turns
	}
}
