package shard

import "github.com/gavel-ads/gavel/shard/command"

// txn stages the writes of a command that must change all or nothing. Its reads include the staged writes. A command
// that is refused does not commit its txn.
type txn struct {
	m             *Machine
	index         map[string]int
	writes        []write
	counts        []countDelta
	expiryChanges []expiryChange
}

type write struct{ key, value []byte }

// countKey names a set of records whose number is counted.
type countKey struct {
	kind        command.RecordKind
	marketplace uint16
	class       string
}

// countDelta is a staged change of the number of records.
type countDelta struct {
	key countKey
	n   int
}

func (m *Machine) begin() *txn {
	return &txn{m: m, index: make(map[string]int)}
}

// get returns a record as the command has left it so far. OWNERSHIP: valid until the next read.
func (t *txn) get(key []byte) (value []byte, found bool) {
	if i, staged := t.index[string(key)]; staged {
		v := t.writes[i].value
		return v, v != nil
	}
	return t.m.get(key)
}

// put stages a record, or with a nil value its deletion. OWNERSHIP: the txn keeps both.
func (t *txn) put(key, value []byte) {
	if i, staged := t.index[string(key)]; staged {
		t.writes[i].value = value
		return
	}
	t.index[string(key)] = len(t.writes)
	t.writes = append(t.writes, write{key, value})
}

// count returns the number of records of a kind, marketplace and class, staged changes included.
func (t *txn) count(k countKey) int { return t.m.counts[k] + t.delta(k).n }

// delta returns the staged change of k. BOUND: one entry for each class of one command, a handful.
func (t *txn) delta(k countKey) *countDelta {
	for i := range t.counts {
		if t.counts[i].key == k {
			return &t.counts[i]
		}
	}
	t.counts = append(t.counts, countDelta{key: k})
	return &t.counts[len(t.counts)-1]
}

// commit writes the staged records in the order in which they were first staged.
func (t *txn) commit() {
	for _, w := range t.writes {
		t.m.put(w.key, w.value)
	}
	for _, d := range t.counts {
		t.m.counts[d.key] += d.n
	}
	for i := range t.expiryChanges {
		t.m.expiring.apply(&t.expiryChanges[i])
	}
}
