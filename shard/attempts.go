package shard

import "github.com/gavel-ads/gavel/shard/command"

// attempts remembers what the last attempts at management commands were answered, so that a repeat gets the first answer and
// changes nothing.
//
// How old can a repeat be? Its proposer gives up after some seconds, but bytes that lie in a connection to a process that is
// stopped are read when it goes on, which may be days later, and by then it may lead. So no time of remembering is long
// enough by itself: what is forgotten has to be refused. One comparison decides both, and it needs a measure of age that
// nothing but the log moves. The state clock is none: it follows the clock that is furthest ahead, jumps with it, and then
// stands still until the others have caught up, and everything that was made meanwhile would be of one age. Hence turns:
// every attempt that is applied is one turn, and every tick of the leader (Advance) counts turnsOfTick.
//
// A command tells the turn that its proposer had seen when it was made; all its repeats tell the same one. It is remembered
// under the turn at which it is applied, which is later. So once that turn is attemptsKept turns ago, what every repeat has
// seen is longer ago than that, and it is refused: Expired, without effect, and its proposer says that the outcome is unknown.
//
// INVARIANT: no attempt is applied twice, however late its repeat comes, whatever clocks say.
// INVARIANT: an attempt that comes within attemptsKept turns of its making is not refused for its age.
// BOUND: attemptsKept attempts, because each takes at least a turn: about 9 MB of memory in a group and 4 MB of state, and
// hardly anything in a group that nobody manages, where ticks let them go. There is no other bound to run into.
//
// Why it is enough: a proposer has 5 s (node/cluster.ProposeTimeout). 65,536 turns are 64 s at four ticks a second,
// 26 s with 1,500 changes a second beside them, and 5 s only at 12,000 changes a second in one group, which is more
// than it can apply to durable state. A copy that lags behind its group by as much cannot answer a change in time anyway.
//
// Rejected: a day of ids as for deposits (170 million at 2,000 changes a second); the hash of the command instead of an id (two
// equal changes with another in between are two changes); a deadline by the proposer's clock (P16: a wrong one would refuse
// everything or nothing).
type attempts struct {
	answers map[[16]byte]string
	order   []attempt // Oldest first.
}

// attempt is one that is remembered.
type attempt struct {
	turn uint64
	id   [16]byte
	hash uint64 // Of its record.
}

const (
	attemptsKept = 65_536
	turnsOfTick  = 256
)

func newAttempts() attempts { return attempts{answers: make(map[[16]byte]string)} }

func (a *attempts) remember(turn uint64, id [16]byte, answer string, hash uint64) {
	a.answers[id] = answer
	a.order = append(a.order, attempt{turn, id, hash})
}

// once applies an attempt, unless it is a repeat or too old to know.
func (m *Machine) once(c *command.Command) []byte {
	if first, repeated := m.attempts.answers[c.Attempt.ID]; repeated {
		return []byte(first)
	}
	if c.Attempt.Seen > m.state.turn { // A defect of the proposer: its copy was ahead of the log.
		return answer(refused(command.Invalid, 0))
	}
	if m.state.turn-c.Attempt.Seen > attemptsKept {
		return answer(refused(command.Expired, 0))
	}
	got := m.applyManaged(c)
	m.pass(1)
	key := appendU64([]byte{tableAttempt}, m.state.turn)
	hash := m.add(key, append(c.Attempt.ID[:], got...))
	m.attempts.remember(m.state.turn, c.Attempt.ID, string(got), hash)
	return got
}

// pass lets turns go by and forgets the attempts whose repeats are refused from now on.
func (m *Machine) pass(turns uint64) {
	if m.state.level < command.LevelAttempts {
		return
	}
	m.state.turn += turns
	a := &m.attempts
	old := 0
	for old < len(a.order) && m.state.turn-a.order[old].turn >= attemptsKept {
		x := &a.order[old]
		m.key = appendU64(append(m.key[:0], tableAttempt), x.turn)
		m.b.Delete(m.key)
		m.digest ^= x.hash
		m.written = true
		delete(a.answers, x.id)
		old++
	}
	if a.order = a.order[old:]; len(a.order) == 0 && old > 0 {
		*a = newAttempts() // A map never shrinks.
	}
}
