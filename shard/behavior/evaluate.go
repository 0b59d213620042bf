package behavior

import (
	"cmp"
	"slices"
)

// expiry is the moment at which an action does not count any more for a behavior, or does not make its user known any
// more.
type expiry struct {
	millis   int64
	behavior int // Index of the behavior, or len(Behaviors) for the second.
}

// Evaluate reports whether the user of some actions belongs to a segment at a time, and when this changes next if nothing
// more happens; 0 when it never does. The order of the actions makes no difference.
//
// An action counts from its report until its window has passed, to the millisecond: at Millis plus the window it does not
// count any more.
func (d *Definition) Evaluate(actions []Action, now int64) (member bool, changesAt int64) {
	known := len(d.Behaviors)
	counts := make([]int, known+1)
	var all []expiry
	add := func(millis int64, behavior int) {
		if millis > now {
			counts[behavior]++
			all = append(all, expiry{millis, behavior})
		}
	}
	for i := range actions {
		a := &actions[i]
		add(a.Millis+KnownDays*dayMillis, known)
		for j := range d.Behaviors {
			if b := &d.Behaviors[j]; b.counts(a) {
				add(a.Millis+b.windowMillis(), j)
			}
		}
	}
	slices.SortFunc(all, func(a, b expiry) int { return cmp.Compare(a.millis, b.millis) })
	member = counts[known] > 0 && d.hold(counts)
	for i := range all {
		counts[all[i].behavior]--
		if i+1 < len(all) && all[i+1].millis == all[i].millis {
			continue // What ends at the same moment ends together.
		}
		if (counts[known] > 0 && d.hold(counts)) != member {
			return member, all[i].millis
		}
	}
	return member, 0
}
