package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"github.com/gavel-ads/gavel/shard/command"
)

const (
	begin = 1_795_132_800_000 // 2026-11-20, in Unix milliseconds.
	step  = 100 * time.Millisecond
	retry = time.Second // How long a storefront waits before it repeats what was refused.
)

// options describe a run. Times are from its begin.
type options struct {
	Seed         uint64
	Marketplaces int
	Cells        int
	Exponent     float64       // Of Zipf's law for the traffic of the marketplaces.
	Rate         int           // Clicks a second, in all.
	Length       time.Duration // Of the run.
	Archive      time.Duration // Between two segments of the archived log.
	Remember     time.Duration // For how long storefronts keep what was accepted, to repeat it when a cell was restored.
	DieAt        time.Duration // When the fullest cell dies; 0: none dies.
	Outage       time.Duration // From the death until the restored cell serves.
	MoveAt       time.Duration // When the largest marketplace of the second cell moves to a cell of its own; 0: none moves.
	MoveTime     time.Duration // From the closing until it is open there: a backup and a restore.
}

// shop is the storefront of a marketplace.
type shop struct {
	market
	cell     int
	campaign uint32 // The ordinal of its first campaign.
	issued   uint32 // Clicks so far.
	waiting  []command.EventRecord
	retryAt  time.Duration
	accepted []accepted
}

// accepted is a click that was answered, and when.
type accepted struct {
	record command.EventRecord
	at     time.Duration
}

// simulation is a run.
type simulation struct {
	o      options
	random *rand.Rand
	cells  []*cell
	shops  []shop
	upTo   []float64 // Sum of the weights of the shops up to each.
	now    time.Duration

	dead     int // The cell that dies, -1 for none.
	moving   int // The shop that moves, -1 for none.
	lost     int // Accepted clicks that the restored cell does not have.
	missing  int // Of them those that are still missing at the end.
	refused  int // Attempts that were refused.
	deadOnly int // Of them those for the dead cell.
}

// newSimulation places the marketplaces and creates them in their cells.
func newSimulation(o options) (*simulation, error) {
	w := &simulation{o: o, random: rand.New(rand.NewPCG(o.Seed, 1)), dead: -1, moving: -1}
	for range o.Cells {
		c, err := newCell()
		if err != nil {
			return nil, err
		}
		w.cells = append(w.cells, c)
	}
	all := markets(o.Marketplaces, o.Exponent, rand.New(rand.NewPCG(o.Seed, 2)))
	placed := byLoad(all, o.Cells)
	sum := 0.0
	for i, m := range all {
		first, err := w.cells[placed[i]].add(m.ordinal)
		if err != nil {
			return nil, err
		}
		sum += m.weight
		w.shops, w.upTo = append(w.shops, shop{market: m, cell: placed[i], campaign: first}), append(w.upTo, sum)
	}
	for _, c := range w.cells {
		c.takeBackup()
	}
	share, _ := placed.loads(all, o.Cells)
	fullest := slices.Index(share, slices.Max(share))
	if o.DieAt > 0 {
		w.dead = fullest
	}
	if o.MoveAt > 0 { // The same one whether a cell dies or not.
		w.moving = w.largestOutside(fullest)
	}
	return w, nil
}

// largestOutside returns the largest shop that is in another cell than this one.
func (w *simulation) largestOutside(cell int) (largest int) {
	largest = -1
	for i := range w.shops {
		if w.shops[i].cell != cell && (largest < 0 || w.shops[i].weight > w.shops[largest].weight) {
			largest = i
		}
	}
	return largest
}

// run plays the whole time, and a while longer until no storefront waits.
func (w *simulation) run() error {
	for ; w.now < w.o.Length; w.now += step {
		if err := w.happen(); err != nil {
			return err
		}
		for range w.arrivals() {
			s := &w.shops[sort.SearchFloat64s(w.upTo, w.random.Float64()*w.upTo[len(w.upTo)-1])]
			s.waiting = append(s.waiting, click(s.ordinal, s.issued, s.campaign+s.issued%campaignsEach, w.millis()))
			s.issued++
		}
		for i := range w.shops {
			if err := w.send(&w.shops[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *simulation) millis() int64 { return begin + w.now.Milliseconds() }

// arrivals returns how many clicks happen in this step, evenly over time.
func (w *simulation) arrivals() int {
	at := func(t time.Duration) int { return int(t.Seconds() * float64(w.o.Rate)) }
	return at(w.now+step) - at(w.now)
}

// send reports what a storefront has, unless it was refused less than retry ago.
func (w *simulation) send(s *shop) error {
	if len(s.waiting) == 0 || w.now < s.retryAt {
		return nil
	}
	good, err := w.cells[s.cell].report(w.millis(), s.ordinal, s.waiting)
	if err != nil {
		return fmt.Errorf("marketplace %d: %w", s.ordinal, err)
	}
	if !good {
		s.retryAt = w.now + retry
		w.refused++
		if s.cell == w.dead {
			w.deadOnly++
		}
		return nil
	}
	for i := range s.waiting {
		s.accepted = append(s.accepted, accepted{s.waiting[i], w.now})
	}
	s.waiting = nil
	return nil
}

// happen does what is planned for this step.
func (w *simulation) happen() error {
	for i, c := range w.cells {
		offset := w.o.Archive * time.Duration(i) / time.Duration(len(w.cells)) // The cells archive one after the other.
		if !c.down && (w.now+offset)%w.o.Archive < step {
			c.archive()
		}
	}
	switch {
	case w.dead >= 0 && w.now == w.o.DieAt:
		w.cells[w.dead].die()
	case w.dead >= 0 && w.now == w.o.DieAt+w.o.Outage:
		return w.restore()
	case w.moving >= 0 && w.now == w.o.MoveAt:
		s := &w.shops[w.moving]
		return w.cells[s.cell].setClosed(w.millis(), s.ordinal, true)
	case w.moving >= 0 && w.now == w.o.MoveAt+w.o.MoveTime:
		s := &w.shops[w.moving]
		made, err := w.cells[s.cell].split(w.millis(), s.ordinal)
		w.cells, s.cell = append(w.cells, made), len(w.cells)
		return err
	}
	return nil
}

// restore brings the dead cell back, counts what it has lost, and lets its storefronts repeat what they remember.
func (w *simulation) restore() error {
	c := w.cells[w.dead]
	if err := c.restore(); err != nil {
		return err
	}
	has, err := c.audit()
	if err != nil {
		return err
	}
	for i := range w.shops {
		s := &w.shops[i]
		if s.cell != w.dead {
			continue
		}
		w.lost += len(s.accepted) - int(has[s.ordinal])
		for _, a := range s.accepted {
			if a.at >= w.o.DieAt-w.o.Remember {
				s.waiting = append(s.waiting, a.record)
			}
		}
		s.accepted = slices.DeleteFunc(s.accepted, func(a accepted) bool { return a.at >= w.o.DieAt-w.o.Remember })
	}
	return nil
}
