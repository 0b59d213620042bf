package shard

import "github.com/gavel-ads/gavel/shard/command"

// attempts remembers the answers to the last attempts at management commands (command.Attempt), so that a repeat gets
// the first answer and changes nothing.
//
// A repeat can be of any age. Its proposer gives up after some seconds, but bytes in a connection to a stopped process
// are read when that process continues, which may be days later, and by then it may be the leader. So no retention time
// is long enough by itself: a repeat of an attempt that is no longer remembered must be refused. One comparison decides
// both, and it needs a measure of age that only the log moves. The state clock is no such measure: it follows the clock
// that is furthest ahead, jumps with it, and then stands still until the other clocks have caught up, so all attempts
// of that time would have the same age. Therefore age is counted in turns: each applied attempt is one turn, and each
// Advance (the leader's tick) is turnsOfTick turns.
//
// A command carries the turn that its proposer had seen when it made the command; all repeats carry the same turn. The
// attempt is remembered under the turn at which it is applied, which is later. So when the attempt is dropped,
// attemptsKept turns after it was applied, the turn seen by every repeat is older than that. Such a repeat is refused
// as Expired, without effect, and its proposer reports that the outcome is unknown.
//
// INVARIANT: no attempt is applied twice, however late its repeat comes and whatever the clocks say.
// INVARIANT: an attempt that arrives within attemptsKept turns of its making is not refused for its age.
// BOUND: attemptsKept attempts, because each takes at least a turn: about 9 MB of memory and 4 MB of state in a group,
// and almost nothing in a group without management commands, because ticks drop old attempts there too.
//
// attemptsKept is large enough: a proposer waits at most 5 s (node/cluster.ProposeTimeout). 65,536 turns are 64 s at
// four ticks a second, 26 s with 1,500 additional changes a second, and 5 s only at 12,000 changes a second in one
// group, which is more than it can apply to durable state. A replica that lags its group by that much cannot answer a
// change in time anyway.
//
// Rejected: remembering ids for a day, as for deposits (170 million ids at 2,000 changes a second); the hash of the
// command instead of an id (two equal changes with another one between them are two changes); a deadline by the
// proposer's clock (a wrong clock would refuse everything or nothing: promise P16, clock skew).
type attempts struct {
	answers map[[16]byte]string
	order   []attempt // Oldest first.
}

// attempt is an attempt that is remembered.
type attempt struct {
	turn uint64
	id   [16]byte
	hash uint64 // Hash of its stored record.
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

// applyIdempotent applies an attempt. It returns the first answer to a repeat, and refuses as Expired an attempt that
// is so old that it may have been applied and dropped from memory.
func (m *Machine) applyIdempotent(c *command.Command) []byte {
	if first, repeated := m.attempts.answers[c.Attempt.ID]; repeated {
		return []byte(first)
	}
	if c.Attempt.Seen > m.state.turn { // A defect of the proposer: it claims to have seen a turn that is not in the log yet.
		return answer(refused(command.Invalid, 0))
	}
	if m.state.turn-c.Attempt.Seen > attemptsKept {
		return answer(refused(command.Expired, 0))
	}
	got := m.applyManaged(c)
	m.advanceTurn(1)
	key := appendU64([]byte{tableAttempt}, m.state.turn)
	hash := m.add(key, append(c.Attempt.ID[:], got...))
	m.attempts.remember(m.state.turn, c.Attempt.ID, string(got), hash)
	return got
}

// advanceTurn adds turns and drops the attempts whose repeats are refused as Expired from now on.
func (m *Machine) advanceTurn(turns uint64) {
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
		*a = newAttempts() // A map never shrinks, so a new one frees the memory.
	}
}
