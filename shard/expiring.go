package shard

import "slices"

// expiring lists the records with an expiry time by kind, marketplace and class. It follows from the stored records. It
// is kept in memory because a scan would not see the changes of the current batch.
type expiring map[countKey][]expiry

type expiry struct {
	id     string
	millis int64
}

// expiryChange is a staged change of a record's expiry time; millis 0 removes the time.
type expiryChange struct {
	class   countKey
	id      string
	millis  int64
	evicted bool // The record was deleted because it had expired and its class was full; the feed must be informed.
}

func (e expiring) apply(x *expiryChange) {
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
		stored, found := t.get(keyRecord(nil, k.kind, k.marketplace, x.id)) // This command may have changed the record.
		if !found {
			continue
		}
		if r := must(readRecord(stored)); r.class == k.class && r.expires == x.millis {
			all = append(all, x.id)
		}
	}
	slices.Sort(all) // The order in memory is not the same after a restart.
	return all
}

// ensureCapacity reports whether one more record of a class fits within most. When it does not, expired records of the
// class are deleted first, so that a class never exceeds its bound and expired records need no other clean-up.
func (t *txn) ensureCapacity(k countKey, most int) bool {
	if t.count(k) < most {
		return true
	}
	for _, id := range t.expired(k, "") {
		t.put(keyRecord(nil, k.kind, k.marketplace, id), nil)
		t.delta(k).n--
		t.expiryChanges = append(t.expiryChanges, expiryChange{class: k, id: id, evicted: true})
	}
	return t.count(k) < most
}
