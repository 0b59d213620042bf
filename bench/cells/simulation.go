package main

import (
	"fmt"
	"math"
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
	MoveAt       time.Duration // When the largest marketplace outside the fullest cell moves to a cell of its own; 0: none moves.
	MoveTime     time.Duration // From the closing until it is open there: a backup and a restore.
}

// check returns an error that names the first option that cannot be simulated.
func (o *options) check() error {
	switch {
	case o.Cells < 2 || o.Cells > cellsMax:
		return fmt.Errorf("-cells is %d; it is 2 to %d", o.Cells, cellsMax)
	case o.Marketplaces < o.Cells || o.Marketplaces > math.MaxUint16:
		return fmt.Errorf("-marketplaces is %d; it is -cells to %d", o.Marketplaces, math.MaxUint16)
	case o.Rate < 1 || o.Rate > rateMax:
		return fmt.Errorf("-rate is %d; it is 1 to %d", o.Rate, rateMax)
	case math.IsNaN(o.Exponent) || o.Exponent < 0 || o.Exponent > exponentMax:
		return fmt.Errorf("-exponent is %v; it is 0 to %d", o.Exponent, exponentMax)
	case o.Length < step || o.Length > lengthMax:
		return fmt.Errorf("-length is %v; it is %v to %v", o.Length, step, lengthMax)
	case o.Archive < step:
		return fmt.Errorf("-archive is %v; it is at least %v", o.Archive, step)
	case o.Remember < 0:
		return fmt.Errorf("-remember is %v; it is 0 or more", o.Remember)
	case !o.happens(o.DieAt, o.Outage):
		return fmt.Errorf("-die is %v and -outage %v; they are multiples of %v that end before -length %v", o.DieAt, o.Outage, step, o.Length)
	case !o.happens(o.MoveAt, o.MoveTime):
		return fmt.Errorf("-move is %v and -move-time %v; they are multiples of %v that end before -length %v", o.MoveAt, o.MoveTime, step, o.Length)
	}
	return nil
}

// happens reports whether what begins at a time and takes a while does so at steps of the run; what begins at 0 does not happen.
func (o *options) happens(at, takes time.Duration) bool {
	return at == 0 || at > 0 && at%step == 0 && takes >= step && takes%step == 0 && at+takes < o.Length
}

// Bounds of the options. BOUND: memory; a run keeps every click, at most rateMax in each second of lengthMax.
const (
	cellsMax    = 1_000
	rateMax     = 10_000
	lengthMax   = 24 * time.Hour
	exponentMax = 4
)

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
	sim := &simulation{o: o, random: rand.New(rand.NewPCG(o.Seed, 1)), dead: -1, moving: -1}
	for range o.Cells {
		c, err := newCell()
		if err != nil {
			return nil, err
		}
		sim.cells = append(sim.cells, c)
	}
	all := markets(o.Marketplaces, o.Exponent, rand.New(rand.NewPCG(o.Seed, 2)))
	placed := byLoad(all, o.Cells)
	sum := 0.0
	for i, m := range all {
		first, err := sim.cells[placed[i]].add(m.ordinal)
		if err != nil {
			return nil, err
		}
		sum += m.weight
		sim.shops, sim.upTo = append(sim.shops, shop{market: m, cell: placed[i], campaign: first}), append(sim.upTo, sum)
	}
	for _, c := range sim.cells {
		c.takeBackup()
	}
	share, _ := placed.loads(all, o.Cells)
	fullest := slices.Index(share, slices.Max(share))
	if o.DieAt > 0 {
		sim.dead = fullest
	}
	if o.MoveAt > 0 { // The same one whether a cell dies or not.
		sim.moving = sim.largestOutside(fullest)
	}
	return sim, nil
}

// largestOutside returns the largest shop that is in another cell than this one.
func (sim *simulation) largestOutside(cell int) (largest int) {
	largest = -1
	for i := range sim.shops {
		if sim.shops[i].cell != cell && (largest < 0 || sim.shops[i].weight > sim.shops[largest].weight) {
			largest = i
		}
	}
	return largest
}

// run plays the whole time.
func (sim *simulation) run() error {
	for ; sim.now < sim.o.Length; sim.now += step {
		if err := sim.happen(); err != nil {
			return err
		}
		for range sim.arrivals() {
			s := &sim.shops[sort.SearchFloat64s(sim.upTo, sim.random.Float64()*sim.upTo[len(sim.upTo)-1])]
			s.waiting = append(s.waiting, click(s.ordinal, s.issued, s.campaign+s.issued%campaignsEach, sim.millis()))
			s.issued++
		}
		for i := range sim.shops {
			if err := sim.send(&sim.shops[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (sim *simulation) millis() int64 { return begin + sim.now.Milliseconds() }

// arrivals returns how many clicks happen in this step, evenly over time.
func (sim *simulation) arrivals() int {
	at := func(t time.Duration) int { return int(t.Seconds() * float64(sim.o.Rate)) }
	return at(sim.now+step) - at(sim.now)
}

// send reports what a storefront has, unless it was refused less than retry ago.
func (sim *simulation) send(s *shop) error {
	if len(s.waiting) == 0 || sim.now < s.retryAt {
		return nil
	}
	good, err := sim.cells[s.cell].report(sim.millis(), s.ordinal, s.waiting)
	if err != nil {
		return fmt.Errorf("marketplace %d: %w", s.ordinal, err)
	}
	if !good {
		s.retryAt = sim.now + retry
		sim.refused++
		if s.cell == sim.dead {
			sim.deadOnly++
		}
		return nil
	}
	for i := range s.waiting {
		s.accepted = append(s.accepted, accepted{s.waiting[i], sim.now})
	}
	s.waiting = nil
	return nil
}

// happen does what is planned for this step.
func (sim *simulation) happen() error {
	for i, c := range sim.cells {
		offset := sim.o.Archive * time.Duration(i) / time.Duration(len(sim.cells)) // The cells archive one after the other.
		if !c.down && (sim.now+offset)%sim.o.Archive < step {
			c.archive()
		}
	}
	if sim.dead >= 0 && sim.now == sim.o.DieAt {
		sim.cells[sim.dead].die()
	}
	if sim.dead >= 0 && sim.now == sim.o.DieAt+sim.o.Outage {
		if err := sim.restore(); err != nil {
			return err
		}
	}
	if sim.moving < 0 {
		return nil
	}
	s := &sim.shops[sim.moving]
	if sim.now == sim.o.MoveAt {
		return sim.cells[s.cell].setClosed(sim.millis(), s.ordinal, true)
	}
	if sim.now == sim.o.MoveAt+sim.o.MoveTime {
		made, err := sim.cells[s.cell].split(sim.millis(), s.ordinal)
		sim.cells, s.cell = append(sim.cells, made), len(sim.cells)
		return err
	}
	return nil
}

// restore brings the dead cell back, counts what it has lost, and lets its storefronts repeat what they remember.
func (sim *simulation) restore() error {
	c := sim.cells[sim.dead]
	if err := c.restore(); err != nil {
		return err
	}
	has, err := c.audit()
	if err != nil {
		return err
	}
	for i := range sim.shops {
		s := &sim.shops[i]
		if s.cell != sim.dead {
			continue
		}
		sim.lost += len(s.accepted) - int(has[s.ordinal])
		for _, a := range s.accepted {
			if a.at >= sim.o.DieAt-sim.o.Remember {
				s.waiting = append(s.waiting, a.record)
			}
		}
		s.accepted = slices.DeleteFunc(s.accepted, func(a accepted) bool { return a.at >= sim.o.DieAt-sim.o.Remember })
	}
	return nil
}
