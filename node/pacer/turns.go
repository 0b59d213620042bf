package pacer

import (
	"iter"
	"math/bits"
)

// idleTurns is the number of ticks in which a campaign that serves nothing is visited once; the campaigns take turns. Most
// campaigns serve nothing in most seconds, and their controllers only let time pass.
const idleTurns = 8

const _ uint = -(wordBits % idleTurns) // The build fails when a turn is not the same bits of every word.

// turns says which campaigns a tick visits: those that asked for it, and every idleTurns-th of the others. It has one bit
// for each campaign, by index, so that a tick does not load the campaigns whose turn it is not.
type turns struct {
	asked []uint64
	count int
	turn  int
}

const wordBits = 64

// batchMax is how many campaigns are visited together.
const batchMax = 16

// grow makes room for n campaigns. New ones have not asked.
func (t *turns) grow(n int) {
	t.count = n
	for len(t.asked)*wordBits < n {
		t.asked = append(t.asked, 0)
	}
}

// ask makes each tick visit a campaign until visited is called.
func (t *turns) ask(index int) { t.asked[index/wordBits] |= 1 << (index % wordBits) }

// visited ends the asking of a campaign.
func (t *turns) visited(index int) { t.asked[index/wordBits] &^= 1 << (index % wordBits) }

// next begins a turn and returns the indexes of the campaigns that it visits, in order, at most batchMax at a time. A batch
// is valid until the next one.
func (t *turns) next() iter.Seq[[]int] {
	t.turn++
	mine := ^uint64(0) / (1<<idleTurns - 1) << (t.turn % idleTurns) // Every idleTurns-th bit.
	return func(yield func([]int) bool) {
		batch := make([]int, 0, batchMax)
		for i, asked := range t.asked {
			for left := asked | mine; left != 0; left &= left - 1 {
				index := i*wordBits + bits.TrailingZeros64(left)
				if index >= t.count {
					break
				}
				if batch = append(batch, index); len(batch) == batchMax {
					if !yield(batch) {
						return
					}
					batch = batch[:0]
				}
			}
		}
		if len(batch) > 0 {
			yield(batch)
		}
	}
}
