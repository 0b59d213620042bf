package rollup

import "encoding/binary"

// LossReasonsMax bounds the numbers of loss reasons. BOUND: a stored record has at most 250 bytes, usually 30.
const LossReasonsMax = 24

// Auctions are the auctions of a campaign in one cell, or the sums over several cells. An auction counts once for a
// campaign, however many of its bids took part: as won when one of them won, otherwise as lost.
type Auctions struct {
	Won int64
	// Lost[n] is the number of auctions that were lost for the reason n, as package auction numbers them. A busy node looks
	// at the losers of some requests only and counts each several times; Lost[0] is the number of lost auctions that were
	// looked at. Lost is exact when Lost[0] is the sum of the others.
	Lost [LossReasonsMax]int64
}

// Add adds the counts of o to a.
func (a *Auctions) Add(o *Auctions) {
	a.Won += o.Won
	for reason, n := range &o.Lost {
		a.Lost[reason] += n
	}
}

// LostTotal returns the number of lost auctions, over all reasons.
func (a *Auctions) LostTotal() (sum int64) {
	for _, n := range a.Lost[1:] {
		sum += n
	}
	return sum
}

// AppendTo appends the stored form of a: the auctions won, and then each reason that occurred, with its number of
// auctions, all as variable-length numbers.
func (a *Auctions) AppendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(a.Won)) // Counts are not negative.
	for reason, n := range &a.Lost {
		if n != 0 {
			dst = binary.AppendUvarint(append(dst, byte(reason)), uint64(n)) // Below LossReasonsMax.
		}
	}
	return dst
}

// Decode sets a to what AppendTo wrote. It returns ErrUnreadable for other bytes.
func (a *Auctions) Decode(b []byte) error {
	*a = Auctions{}
	won, n := binary.Uvarint(b)
	if n <= 0 {
		return ErrUnreadable
	}
	a.Won = int64(won) // As it was written.
	for b = b[n:]; len(b) > 0; b = b[1+n:] {
		var lost uint64
		if lost, n = binary.Uvarint(b[1:]); n <= 0 || b[0] >= LossReasonsMax {
			return ErrUnreadable
		}
		a.Lost[b[0]] = int64(lost) // As it was written.
	}
	return nil
}
