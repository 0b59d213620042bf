package market

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-ads/gavel/shard/model"
)

// keywords holds the keyword triggers. The words of all keywords are numbered. A keyword is a kind of match and a list
// of word numbers, and a search query becomes a list of word numbers by one look-up for each word, so matching compares
// numbers.
//
// To find the products of a search that names neither products nor a category, each keyword is listed under the one of
// its words that has the fewest keywords so far, and lists the products with bids that have the keyword. A bid without
// any trigger matches every request; products with such a bid are listed under a keyword without words, one per
// marketplace. As with categories, a list of products may contain stale entries, because a reader checks each bid
// anyway.
type keywords struct {
	rows[keywordRow]
	byKey       map[string]uint32 // By marketplace, kind and text.
	words       rows[wordRow]
	wordTable   *table
	untriggered map[uint16]uint32 // The keyword without words, by marketplace. The map is copied before it changes.
}

type keywordRow struct {
	words   []uint32
	members []uint32 // Products; some entries are stale or repeated.
	stale   uint32
	kind    model.TriggerKind
}

type wordRow struct {
	keywords    []uint32 // The keywords listed under this word.
	key         uint32
	keyLen      uint16
	marketplace uint16
}

func (k *keywords) init() {
	k.byKey = map[string]uint32{}
	k.wordTable = newTable(bucketsMin)
	k.untriggered = map[uint16]uint32{}
}

// keyword returns the row of a keyword, adding one on its first mention.
func (m *Market) keyword(marketplace uint16, kind model.TriggerKind, text string) uint32 {
	k := &m.keywords
	key := append(binary.BigEndian.AppendUint16(nil, marketplace), byte(kind))
	key = append(key, text...)
	if i, known := k.byKey[string(key)]; known {
		return i
	}
	i := k.add()
	k.byKey[string(key)] = i
	r := k.at(i)
	r.kind = kind
	for word := range strings.FieldsSeq(text) {
		r.words = append(r.words, m.word(marketplace, word))
	}
	m.dirty = true
	if kind.IsNegative() || len(r.words) == 0 {
		return i
	}
	rarest := slices.MinFunc(r.words, func(a, b uint32) int { return len(k.words.at(a).keywords) - len(k.words.at(b).keywords) })
	w := k.words.edit(rarest, m.edition)
	w.keywords = append(w.keywords, i)
	return i
}

// untriggeredKeyword returns the keyword without words of a marketplace, adding it on its first use.
func (m *Market) untriggeredKeyword(marketplace uint16) uint32 {
	i, known := m.keywords.untriggered[marketplace]
	if !known {
		i = m.keywords.add()
		m.keywords.untriggered = maps.Clone(m.keywords.untriggered)
		m.keywords.untriggered[marketplace] = i
		m.dirty = true
	}
	return i
}

// word returns the row of a word, adding one on its first mention.
func (m *Market) word(marketplace uint16, word string) uint32 {
	k := &m.keywords
	m.key = append(m.key[:0], word...)
	hash := m.hash(seedOf(m.seed, marketplace), m.key)
	for p := k.wordTable.probe(hash); ; {
		i, ok := k.wordTable.next(&p)
		if !ok {
			break
		}
		if r := k.words.at(i & ordinalMask); r.marketplace == marketplace && string(m.texts.at(r.key, r.keyLen)) == word {
			return i & ordinalMask
		}
	}
	i := k.words.add()
	*k.words.at(i) = wordRow{key: m.texts.put(word), keyLen: uint16(len(word)), marketplace: marketplace} // At most 64 characters.
	if k.wordTable.full() {
		m.growWords(i)
	}
	k.wordTable.insert(hash, i)
	return i
}

// growWords builds a word table of twice the size for the next view, with the first n rows.
func (m *Market) growWords(n uint32) {
	t := newTable(2 * len(m.keywords.wordTable.tags))
	for i := range n {
		r := m.keywords.words.at(i)
		t.insert(m.hash(seedOf(m.seed, r.marketplace), m.texts.at(r.key, r.keyLen)), i)
	}
	m.keywords.wordTable = t
}

// postings returns the keywords under which searches find a listing bid with these terms.
func (m *Market) postings(marketplace uint16, t Terms) (all []uint32) {
	if t&TriggerNone != 0 {
		all = append(all, m.untriggeredKeyword(marketplace))
	}
	list := m.predicates.at(uint32(t & predicateMask))
	for i := 1; i < len(list); i += 2 {
		if kind := model.TriggerKind(list[i]); kind.IsKeyword() && !kind.IsNegative() { // A kind was stored.
			all = append(all, list[i+1])
		}
	}
	return all
}

// updatePostings moves a product from the keywords that one of its bids had before to those that the bid has after a
// change.
func (m *Market) updatePostings(product uint32, before, after []uint32) {
	for _, i := range after {
		if !slices.Contains(before, i) {
			r := m.keywords.edit(i, m.edition)
			r.members = append(r.members, product)
		}
	}
	for _, i := range before {
		if slices.Contains(after, i) {
			continue
		}
		r := m.keywords.edit(i, m.edition)
		if r.stale++; r.stale > staleMin && int(r.stale) > len(r.members)/2 {
			m.compactKeyword(i, r)
		}
	}
}

// compactKeyword rewrites the list of a keyword without stale and repeated entries.
func (m *Market) compactKeyword(keyword uint32, r *keywordRow) {
	var kept []uint32
	for _, product := range r.members {
		p := m.products.at(product)
		has := func(b BidRow) bool { return slices.Contains(m.postings(p.Marketplace, b.Terms), keyword) }
		if slices.ContainsFunc(m.bids.at(p.block, p.Bids), has) {
			kept = append(kept, product)
		}
	}
	slices.Sort(kept)
	r.members, r.stale = slices.Compact(kept), 0
}

// NoWord is the number of every word that no keyword contains.
const NoWord = ^uint32(0)

// Word returns the number of a word, NoWord when no keyword contains it.
func (v *View) Word(marketplace uint16, hash uint64, word []byte) uint32 {
	for p := v.wordTable.probe(hash); ; {
		i, ok := v.wordTable.next(&p)
		if !ok {
			return NoWord
		}
		if i &= ordinalMask; i >= v.words.count {
			continue
		}
		if r := v.words.at(i); r.marketplace == marketplace && bytes.Equal(textAt(v.texts, r.key, r.keyLen), word) {
			return i
		}
	}
}

// KeywordsUnder returns the keywords listed under a word. Each keyword is listed under exactly one of its words.
func (v *View) KeywordsUnder(word uint32) []uint32 { return v.words.at(word).keywords }

// KeywordMembers returns the products with bids that have a keyword. Some entries are stale or repeated.
func (v *View) KeywordMembers(keyword uint32) []uint32 { return v.keywords.at(keyword).members }

// UntriggeredMembers returns the products with bids that have no trigger. Some entries are stale or repeated.
func (v *View) UntriggeredMembers(marketplace uint16) []uint32 {
	if i, known := v.untriggered[marketplace]; known {
		return v.keywords.at(i).members
	}
	return nil
}

// Matches reports whether a keyword matches a query, given as word numbers.
func (v *View) Matches(keyword uint32, query []uint32) bool {
	k := v.keywords.at(keyword)
	if len(k.words) == 0 || len(k.words) > len(query) && k.kind != model.TriggerBroad && k.kind != model.TriggerNotBroad {
		return false
	}
	switch k.kind {
	case model.TriggerExact, model.TriggerNotExact:
		return slices.Equal(k.words, query)
	case model.TriggerPhrase:
		for at := range len(query) - len(k.words) + 1 {
			if slices.Equal(k.words, query[at:at+len(k.words)]) {
				return true
			}
		}
		return false
	default:
		for _, word := range k.words {
			if !slices.Contains(query, word) {
				return false
			}
		}
		return true
	}
}
