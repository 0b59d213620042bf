package shard

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
)

// bootstrap writes the first marketplace, the secrets and the first API keys of a cluster. A repeat changes nothing.
func (m *Machine) bootstrap(b *command.Bootstrap) command.Result {
	if b.Marketplace.Ordinal == 0 {
		return refused(command.Invalid, 0)
	}
	for _, key := range [][]byte{{tableSecrets}, keyMarketplace(nil, b.Marketplace.Ordinal)} {
		if _, found := m.get(key); found {
			return command.Result{}
		}
	}
	if r := m.putRecords(&command.PutRecords{Records: b.Keys}); r.Refusal != command.Done {
		return r
	}
	m.put([]byte{tableSecrets}, command.AppendSecrets(nil, &b.Secrets))
	m.feed.PutSecrets(&b.Secrets)
	return m.putMarketplace(&b.Marketplace)
}

// replaceMarketplace replaces the settings of a marketplace. With p.Expect it refuses as Conflict when the settings are
// no longer those that the proposer has read. Settings of before a closing are always refused so, and changes of a closed
// marketplace as MarketplaceClosed.
func (m *Machine) replaceMarketplace(p *command.PutMarketplace) command.Result {
	stored, found := m.get(keyMarketplace(nil, p.Marketplace.Ordinal))
	if !found {
		if p.Expect != 0 {
			return refused(command.NotFound, 0)
		}
		return m.putMarketplace(&p.Marketplace)
	}
	now := mustMarketplace(stored)
	version := command.VersionOfMarketplace(&now)
	switch {
	case p.Expect != 0 && p.Expect != version, p.Marketplace.Closings < now.Closings:
		return refused(command.Conflict, 0)
	case now.Closed() && p.Marketplace.Closings == now.Closings && command.VersionOfMarketplace(&p.Marketplace) != version:
		return refused(command.MarketplaceClosed, 0)
	}
	return m.putMarketplace(&p.Marketplace)
}

// putMarketplace stores the settings of a marketplace. Data groups store them too, because the billing mode decides
// what is charged; only the meta group reports them to the auctions.
func (m *Machine) putMarketplace(x *model.Marketplace) command.Result {
	if x.Ordinal == 0 {
		return refused(command.Invalid, 0)
	}
	key := keyMarketplace(nil, x.Ordinal)
	m.put(key, command.AppendMarketplace(nil, x))
	t := m.tenant(x.Ordinal)
	modeChanged := t.postPaid != x.PostPaid
	t.set(x)
	if modeChanged {
		m.journalBillingMode(x.Ordinal)
		for _, c := range m.campaigns {
			if c.Marketplace == x.Ordinal {
				m.publishBalances(c)
			}
		}
	}
	if m.meta {
		m.feed.PutMarketplace(x)
		m.changed = true
	}
	return command.Result{}
}

// set takes over the settings that the machine needs for nearly every command.
func (t *tenant) set(x *model.Marketplace) {
	t.postPaid, t.carriesOver, t.closed = x.PostPaid, x.CarriesOver, x.Closed()
	t.setTouchDays(x)
	t.eventDays = uint32(x.EventDays)
	t.setClickRules(x)
	t.setExperiment(x)
}

// putRecords writes and deletes records, all or nothing.
func (m *Machine) putRecords(p *command.PutRecords) command.Result {
	t := m.begin()
	version := m.state.lastVersion
	for i := range p.Records {
		version++
		if why := t.putRecord(&p.Records[i], version); why != command.Done {
			return refused(why, i)
		}
	}
	t.commit()
	m.state.lastVersion = version
	for _, x := range t.expiryChanges {
		if x.evicted {
			m.feedRecord(x.class.kind, x.class.marketplace, x.id, nil)
		}
	}
	for i := range p.Records {
		r := &p.Records[i]
		m.feedRecord(r.Kind, r.Marketplace, r.ID, r.Value)
	}
	return command.Result{}
}

// putRecord stages one record. All versions come from one counter, so that a record that was deleted and created again
// never has a version that a writer has seen before.
func (t *txn) putRecord(r *command.Record, version uint64) command.Refusal {
	key := keyRecord(nil, r.Kind, r.Marketplace, r.ID)
	stored, found := t.get(key)
	var old storedRecord
	if found {
		old = must(readRecord(stored))
	}
	if why := expected(r, found, old.version); why != command.Done {
		return why
	}
	if r.Value == nil {
		if !found {
			return command.Done
		}
		class := countKey{r.Kind, r.Marketplace, old.class}
		if r.NotLast && t.count(class)-len(t.expired(class, r.ID)) == 1 {
			return command.WrongState
		}
		t.delta(class).n--
		t.expiryChanges = append(t.expiryChanges, expiryChange{class: class, id: r.ID})
		t.put(key, nil)
		return command.Done
	}
	class := countKey{r.Kind, r.Marketplace, r.Class}
	if r.Max > 0 && (!found || old.class != r.Class) && !t.ensureCapacity(class, r.Max) {
		return command.TooMany
	}
	if found {
		before := countKey{r.Kind, r.Marketplace, old.class}
		t.delta(before).n--
		t.expiryChanges = append(t.expiryChanges, expiryChange{class: before, id: r.ID})
	}
	t.delta(class).n++
	t.expiryChanges = append(t.expiryChanges, expiryChange{class: class, id: r.ID, millis: r.ExpiresMillis})
	t.put(key, appendRecord(nil, version, r))
	return command.Done
}

// expected compares the version that the writer expects with the stored one.
func expected(r *command.Record, found bool, version uint64) command.Refusal {
	switch {
	case r.Expect == command.Any:
		return command.Done
	case r.Expect == 0 && found:
		return command.AlreadyExists
	case r.Expect == 0:
		return command.Done
	case !found:
		return command.NotFound
	case r.Expect != version:
		return command.Conflict
	default:
		return command.Done
	}
}

// storedRecord is the stored form of a record. OWNERSHIP: value aliases the stored bytes.
type storedRecord struct {
	version uint64
	expires int64 // Unix milliseconds; 0: never.
	class   string
	value   []byte
}

func appendRecord(dst []byte, version uint64, r *command.Record) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, version)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(r.ExpiresMillis)) // Read back the same way.
	return append(command.AppendText(dst, r.Class), r.Value...)
}

func readRecord(b []byte) (storedRecord, error) {
	d := command.NewDecoder(b)
	r := storedRecord{version: d.U64(), expires: d.I64(), class: d.Text(), value: d.Rest()}
	return r, d.Err()
}
