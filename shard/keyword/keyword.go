// Package keyword normalises keywords and search queries so that they can be compared word by word: Unicode NFKC,
// case-folded, and split at every character that is not a letter, mark or digit.
//
// Keywords are normalised when they are written, and queries when an auction is run.
package keyword

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Normalizer holds the working memory of normalisation, so that it allocates nothing once it has grown. The zero value
// is ready to use. BOUND: NFKC makes a text at most about 18 times longer, and the longest query has 1,024 characters.
type Normalizer struct {
	composed, folded, words []byte
	iter                    norm.Iter
}

// Words returns the words of a text in their order and with repeats, joined by single blanks; empty when there is none.
//
// A mark belongs to its word: Indic vowel signs are marks, and a split at them would divide most words. Case is folded
// rune by rune (Σ, σ and ς are equal). The result is composed again, because some lower-case letters have a composed
// form while their capital letter has only a decomposed one.
//
// INVARIANT: Words(Words(text)) = Words(text).
// OWNERSHIP: the result is valid until the next call.
func (n *Normalizer) Words(text []byte) []byte {
	n.words = n.words[:0]
	if isASCII(text) {
		n.splitASCII(text)
		return n.words
	}
	n.compose(text)
	for range foldRounds {
		n.folded = n.folded[:0]
		for i := 0; i < len(n.composed); {
			r, size := utf8.DecodeRune(n.composed[i:])
			n.folded = utf8.AppendRune(n.folded, fold(r))
			i += size
		}
		n.compose(n.folded)
	}
	n.split(n.composed)
	return n.words
}

// compose stores the NFKC form of a text in n.composed.
func (n *Normalizer) compose(text []byte) {
	n.composed = n.composed[:0]
	if norm.NFKC.QuickSpan(text) == len(text) {
		n.composed = append(n.composed, text...)
		return
	}
	n.iter.Init(norm.NFKC, text) // An iterator instead of norm.NFKC.Append, which allocates.
	for !n.iter.Done() {
		n.composed = append(n.composed, n.iter.Next()...)
	}
}

// foldRounds is how often folding and composing are repeated. Folding can make a composition possible, and composing
// can make a folding possible. After the second round nothing changes; the fuzz test searches for a text that needs a
// third.
const foldRounds = 2

// Text returns the normalised words of a list of texts, in the form of Words, for storing a keyword. It allocates.
func Text(words []string) string {
	var n Normalizer
	var all []byte
	for _, word := range words {
		all = append(append(all, word...), ' ')
	}
	return string(n.Words(all))
}

func isASCII(text []byte) bool {
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func (n *Normalizer) splitASCII(text []byte) {
	gap := false
	for _, c := range text {
		switch {
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		default:
			gap = true
			continue
		}
		if gap && len(n.words) > 0 {
			n.words = append(n.words, ' ')
		}
		gap = false
		n.words = append(n.words, c)
	}
}

func (n *Normalizer) split(text []byte) {
	gap := false
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		i += size
		if r == utf8.RuneError || !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) {
			gap = true
			continue
		}
		if gap && len(n.words) > 0 {
			n.words = append(n.words, ' ')
		}
		gap = false
		n.words = utf8.AppendRune(n.words, r)
	}
}

// fold returns the lower case of the smallest rune that Unicode simple case folding treats as equal to r.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(least)
}
