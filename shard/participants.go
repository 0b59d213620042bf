package shard

import (
	"encoding/binary"
	"errors"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// A participant is a user of one of the two arms of a marketplace's experiment (market.ArmsOf), with what the user's ads
// of the group's campaigns did while it ran: impressions, clicks, and what was charged for them and for the purchases that
// they brought. It is stored by the UTC day and user, so that the spread between users, and with it a confidence interval,
// can be computed; counters of the arms could not tell it. What is reversed later is not taken out. Purchases of the users
// are not counted here: the report finds them by their buyer (tableBuyer). Users outside both arms cost nothing.
//
// Only one experiment runs at a time. A record names its experiment by its start, and the first event of the next one on
// the same day replaces it.

// ParticipantsMax is how many participants of a UTC day a group keeps. BOUND: 12 MB a day and 700 MB in all. Further users
// of the day are left out, whatever their arm, so that both arms stay comparable; the report says so.
const ParticipantsMax = 1 << 18

// Participant is what a user's ads did on a day.
type Participant struct {
	User                uint64
	Impressions, Clicks uint64
	Spent               money.Micros
}

// experiment is what the machine keeps in memory of a marketplace's experiment.
type experiment struct {
	arms       market.Holdout
	start, end int64 // In milliseconds; an end of 0 is none.
}

// setExperiment takes over the experiment of a marketplace, also one that has ended: events are reported later.
func (t *tenant) setExperiment(x *model.Marketplace) {
	t.experiment = nil
	if e := &x.Experiment; e.Percent > 0 {
		t.experiment = &experiment{market.ArmsOf(x), e.StartMillis, e.EndMillis}
	}
}

// countParticipant adds what an interaction at a time did to its user, if the user was a participant then.
func (m *Machine) countParticipant(marketplace uint16, user uint64, millis int64, add Participant) {
	e := m.tenant(marketplace).experiment
	if e == nil || millis < e.start || e.end != 0 && millis >= e.end || e.arms.Arm(user) == market.Unmeasured {
		return
	}
	day := dayOf(millis)
	if !m.mayEnrol(marketplace, day) {
		return
	}
	id, key := dayIn(tableParticipant, day), keyParticipant(nil, day, marketplace, user)
	old, found := m.get(key)
	if found {
		if p, start := must2(readParticipant(old)); start == e.start {
			add.Impressions += p.Impressions
			add.Clicks += p.Clicks
			add.Spent = min(add.Spent, money.MaxMicros-p.Spent) + p.Spent
		}
	} else if d := m.days.all[id]; d != nil && d.count >= uint64(m.participantsMax) { // Positive.
		return
	}
	m.putOfDay(id, key, appendParticipant(nil, e.start, &add))
}

// participantOf is what an event that was counted adds to its user.
func participantOf(r *command.EventRecord, charged money.Micros) Participant {
	p := Participant{Spent: charged}
	switch r.Kind {
	case event.Impression:
		p.Impressions = 1
	case event.Click:
		p.Clicks = 1
	default:
	}
	return p
}

// forgetParticipants erases what a user did.
func (m *Machine) forgetParticipants(marketplace uint16, user uint64) {
	for _, id := range m.daysOf(tableParticipant) {
		m.putOfDay(id, keyParticipant(nil, id.day, marketplace, user), nil)
	}
}

// purgeParticipants deletes the participants of a marketplace and day, at most limit. It returns how many there were, or
// limit+1 when there are more.
func (m *Machine) purgeParticipants(marketplace uint16, day uint32, limit int) int {
	id := dayIn(tableParticipant, day)
	if m.days.all[id] == nil {
		return 0
	}
	keys := m.coldKeys(prefixParticipants(nil, day, marketplace), limit+1)
	for _, key := range keys[:min(limit, len(keys))] {
		m.putOfDay(id, key, nil)
	}
	return len(keys)
}

// Participants calls fn for what the participants of a marketplace's present or last experiment did on a day, until fn
// returns false. full says that the group has as many participants of the day as it keeps, so some may be left out. Every
// group has those whose ads were of its campaigns.
func (b Queries) Participants(marketplace uint16, day uint32, startMillis int64, fn func(*Participant) bool) (full bool) {
	prefix := prefixParticipants(nil, day, marketplace)
	b.R.Scan(prefix, prefixEnd(prefix), func(key, value []byte) bool {
		p, start := must2(readParticipant(value))
		if start != startMillis {
			return true
		}
		p.User = binary.BigEndian.Uint64(key[7:])
		return fn(&p)
	})
	stored, found := b.R.Get(keyDay(nil, dayIn(tableParticipant, day)))
	return found && binary.LittleEndian.Uint64(stored) >= ParticipantsMax
}

func appendParticipant(dst []byte, start int64, p *Participant) []byte {
	dst = binary.AppendUvarint(dst, uint64(start)) // Not negative.
	dst = binary.AppendUvarint(dst, p.Impressions)
	dst = binary.AppendUvarint(dst, p.Clicks)
	return binary.AppendUvarint(dst, uint64(p.Spent)) // Not negative.
}

func readParticipant(value []byte) (p Participant, start int64, err error) {
	d := command.NewDecoder(value)
	start = int64(d.Uvarint())                                                             // Written from an int64.
	p.Impressions, p.Clicks, p.Spent = d.Uvarint(), d.Uvarint(), money.Micros(d.Uvarint()) // Written from a Micros.
	if d.More() {
		return p, start, errors.New("participant with a longer record")
	}
	return p, start, d.Err()
}

func prefixParticipants(dst []byte, day uint32, marketplace uint16) []byte {
	return appendU16(appendU32(append(dst, tableParticipant), day), marketplace)
}

func keyParticipant(dst []byte, day uint32, marketplace uint16, user uint64) []byte {
	return appendU64(prefixParticipants(dst, day, marketplace), user)
}

func (l *loader) loadParticipant(key, value []byte) error {
	if l.m.days.all[dayIn(tableParticipant, binary.BigEndian.Uint32(key[1:]))] == nil {
		return errors.New("participant without day")
	}
	_, _, err := readParticipant(value)
	return err
}
