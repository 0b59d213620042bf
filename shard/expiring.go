package shard

import "slices"

// expiring are the records that will not count for ever, by what they count for. It follows from the stored records, and
// is kept beside them because a scan would not see the commands of the batch that is being applied.
type expiring map[countKey][]expiry

type expiry struct {
	id     string
	millis int64
}

// timing is a change of an expiring record that a command has staged; millis 0 drops the record's time.
type timing struct {
	class  countKey
	id     string
	millis int64
	swept  bool // Deleted to make room: nobody but the feed is told.
}

func (e expiring) apply(x *timing) {
	e[x.class] = slices.DeleteFunc(e[x.class], func(y expiry) bool { return y.id == x.id })
	if x.millis != 0 {
		e[x.class] = append(e[x.class], expiry{x.id, x.millis})
	}
	if len(e[x.class]) == 0 {
		delete(e, x.class)
	}
}

// expired lists the records of a class, one left out, whose time has passed.
func (t *txn) expired(k countKey, except string) (all []string) {
	for _, x := range t.m.expiring[k] {
		if x.millis > t.m.state.now || x.id == except {
			continue
		}
		stored, found := t.get(keyRecord(nil, k.kind, k.marketplace, x.id)) // This command may have changed it.
		if !found {
			continue
		}
		if r := must(readRecord(stored)); r.class == k.class && r.expires == x.millis {
			all = append(all, x.id)
		}
	}
	slices.Sort(all) // The order of arrival is not kept over a restart.
	return all
}

// room reports whether one more record of a class fits. Expired ones are deleted first when it does not: so a class never
// holds more than its bound, and nobody has to clear away what no longer works.
func (t *txn) room(k countKey, most int) bool {
	if t.count(k) < most {
		return true
	}
	for _, id := range t.expired(k, "") {
		t.put(keyRecord(nil, k.kind, k.marketplace, id), nil)
		t.delta(k).n--
		t.times = append(t.times, timing{class: k, id: id, swept: true})
	}
	return t.count(k) < most
}
