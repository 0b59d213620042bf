package auction

// generationMap is a hash table from uint64 to uint32 that is cleared by increasing its generation, so that clearing
// takes no time, however large an earlier auction was. It uses open addressing and is at most half full.
type generationMap struct {
	entries    []generationEntry
	generation uint32
	used       int
}

type generationEntry struct {
	key        uint64
	generation uint32
	value      uint32
}

const generationMapMin = 256

// clear removes all keys.
func (t *generationMap) clear() {
	if t.entries == nil {
		t.entries = make([]generationEntry, generationMapMin)
	}
	t.used = 0
	if t.generation++; t.generation == 0 { // After 2^32 generations an old entry could be taken for a new one.
		clear(t.entries)
		t.generation = 1
	}
}

// add stores the value unless the key has one. It returns the value that the key has now and whether it was added.
func (t *generationMap) add(key uint64, value uint32) (stored uint32, added bool) {
	if t.used*2 >= len(t.entries) {
		t.grow()
	}
	s := t.find(key)
	if s.generation == t.generation {
		return s.value, false
	}
	*s = generationEntry{key: key, generation: t.generation, value: value}
	t.used++
	return value, true
}

// get returns the value of a key.
func (t *generationMap) get(key uint64) (uint32, bool) {
	s := t.find(key)
	return s.value, s.generation == t.generation
}

// find returns the entry of the key, or the free entry where it would be added.
func (t *generationMap) find(key uint64) *generationEntry {
	mask := uint64(len(t.entries) - 1)
	for i := key * 0x9e3779b97f4a7c15 >> 32; ; i++ {
		if s := &t.entries[i&mask]; s.generation != t.generation || s.key == key {
			return s
		}
	}
}

func (t *generationMap) grow() {
	old := t.entries
	t.entries = make([]generationEntry, 2*len(old))
	for _, s := range old {
		if s.generation == t.generation {
			*t.find(s.key) = s
		}
	}
}
