package auth_test

import (
	"bytes"
	"crypto/rand"
	mathrand "math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/auth"
)

const now = 1_790_000_000_000

func generate(t testing.TB, kind auth.Kind) auth.Key {
	t.Helper()
	k, err := auth.Generate(kind, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func put(t testing.TB, table *auth.Table, k auth.Key, marketplace uint16, expires int64) {
	t.Helper()
	r := k.Record("a key", marketplace, now, expires)
	if err := table.Put(k.ID.String(), r.Append(nil)); err != nil {
		t.Fatal(err)
	}
}

func TestTextForm(t *testing.T) {
	form := regexp.MustCompile(`^gavel_(auc|mgt)_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}$`)
	for range 200 {
		for _, kind := range []auth.Kind{auth.Auction, auth.Management} {
			k := generate(t, kind)
			if !form.MatchString(k.String()) {
				t.Fatalf("%q is not of the form", k)
			}
			parsed, ok := auth.Parse([]byte(k.String()))
			if !ok || parsed != k {
				t.Fatalf("%q does not come back: %v %v", k, parsed, ok)
			}
		}
	}
}

// TestGoldenKey: the text form must not change, because keys in use must stay valid.
func TestGoldenKey(t *testing.T) {
	k, err := auth.Generate(auth.Auction, mathrand.NewChaCha8([32]byte{1}))
	if err != nil {
		t.Fatal(err)
	}
	const golden = "gavel_auc_iiw1H3lR_CUqsSo8GpEDsEBlxxXcdbtAg8ReFjIIw2AEG0B"
	if k.String() != golden {
		t.Errorf("got %s", k)
	}
}

func TestGenerateRefusesWhatIsNoKind(t *testing.T) {
	for _, kind := range []auth.Kind{0, 3} {
		if k, err := auth.Generate(kind, rand.Reader); err == nil {
			t.Errorf("kind %d gave %s", kind, k)
		}
	}
	if _, err := auth.Generate(auth.Auction, bytes.NewReader(make([]byte, 10))); err == nil {
		t.Error("a key was made out of ten bytes of entropy")
	}
}

// Any single changed character is detected without a look-up.
func TestParseNoticesEveryChange(t *testing.T) {
	text := []byte(generate(t, auth.Management).String())
	for i := range text {
		for _, c := range []byte("0aZ_ \x00\xff") {
			changed := bytes.Clone(text)
			changed[i] = c
			if _, ok := auth.Parse(changed); ok != bytes.Equal(changed, text) {
				t.Errorf("character %d changed to %q: parsed %v", i, c, ok)
			}
		}
	}
	for _, wrong := range [][]byte{nil, text[:len(text)-1], append(bytes.Clone(text), 'a')} {
		if _, ok := auth.Parse(wrong); ok {
			t.Errorf("%q was parsed", wrong)
		}
	}
}

func TestRecordRoundTrip(t *testing.T) {
	k := generate(t, auth.Auction)
	r := k.Record("Shop front, ünïcode", 65535, now, now+1)
	stored := r.Append(nil)
	got, err := auth.ReadRecord(stored)
	if err != nil || got != r {
		t.Errorf("got %+v, %v; want %+v", got, err, r)
	}
	secret := k.String()[19:51]
	if bytes.Contains(stored, []byte(secret)) {
		t.Error("the secret is stored")
	}
	for n := range stored[:len(stored)-len(r.Name)] {
		if _, err = auth.ReadRecord(stored[:n]); err == nil {
			t.Errorf("%d bytes were read as a record", n)
		}
	}
}

func TestPutRefusesWhatIsNoRecordOfTheKey(t *testing.T) {
	table := auth.NewTable()
	k := generate(t, auth.Auction)
	r := k.Record("", 1, now, 0)
	if err := table.Put("another_", r.Append(nil)); err == nil {
		t.Error("a record was stored under another id")
	}
	if err := table.Put(k.ID.String(), []byte("nonsense")); err == nil {
		t.Error("nonsense was stored")
	}
}

func TestCheck(t *testing.T) {
	table := auth.NewTable()
	auction, management := generate(t, auth.Auction), generate(t, auth.Management)
	expired, other, unknown := generate(t, auth.Auction), generate(t, auth.Auction), generate(t, auth.Auction)
	put(t, table, auction, 1, 0)
	put(t, table, management, 1, 0)
	put(t, table, expired, 1, now)
	put(t, table, other, 2, now+1)

	// A text whose id is known and whose secret is another's, with a good checksum.
	forged := unknown
	forged.ID = auction.ID
	// A text whose prefix contradicts its record, with a good checksum.
	disguised := auction
	disguised.Kind = auth.Management

	cases := []struct {
		name   string
		header string
		want   auth.Kind
		code   apierr.Code
		market uint16
	}{
		{"auction key", "Bearer " + auction.String(), auth.Auction, apierr.OK, 1},
		{"management key", "Bearer " + management.String(), auth.Management, apierr.OK, 1},
		{"key of another marketplace", "Bearer " + other.String(), auth.Auction, apierr.OK, 2},
		{"scheme in other case", "bEARER " + auction.String(), auth.Auction, apierr.OK, 1},
		{"several blanks", "Bearer     " + auction.String(), auth.Auction, apierr.OK, 1},
		{"very many blanks", "Bearer" + strings.Repeat(" ", 100) + auction.String(), auth.Auction, apierr.OK, 1},
		{"auction key for management", "Bearer " + auction.String(), auth.Management, apierr.ForbiddenAPIKey, 0},
		{"management key for auctions", "Bearer " + management.String(), auth.Auction, apierr.ForbiddenAPIKey, 0},
		{"absent", "", auth.Auction, apierr.InvalidAPIKey, 0},
		{"scheme alone", "Bearer", auth.Auction, apierr.InvalidAPIKey, 0},
		{"scheme and blank", "Bearer ", auth.Auction, apierr.InvalidAPIKey, 0},
		{"no blank", "Bearer" + auction.String(), auth.Auction, apierr.InvalidAPIKey, 0},
		{"no scheme", auction.String(), auth.Auction, apierr.InvalidAPIKey, 0},
		{"basic", "Basic " + auction.String(), auth.Auction, apierr.InvalidAPIKey, 0},
		{"a tab", "Bearer\t" + auction.String(), auth.Auction, apierr.InvalidAPIKey, 0},
		{"something behind", "Bearer " + auction.String() + " x", auth.Auction, apierr.InvalidAPIKey, 0},
		{"malformed", "Bearer gavel_auc_x", auth.Auction, apierr.InvalidAPIKey, 0},
		{"damaged", "Bearer " + auction.String()[:len(auction.String())-1] + "!", auth.Auction, apierr.InvalidAPIKey, 0},
		{"unknown", "Bearer " + unknown.String(), auth.Auction, apierr.InvalidAPIKey, 0},
		{"expired", "Bearer " + expired.String(), auth.Auction, apierr.InvalidAPIKey, 0},
		{"expired, of the wrong kind", "Bearer " + expired.String(), auth.Management, apierr.InvalidAPIKey, 0},
		{"wrong secret", "Bearer " + forged.String(), auth.Auction, apierr.InvalidAPIKey, 0},
		{"wrong prefix", "Bearer " + disguised.String(), auth.Management, apierr.InvalidAPIKey, 0},
	}
	var memo auth.Memo
	for range 3 { // First with an empty memo, then with the memo of all of them.
		for _, tc := range cases {
			v := table.Check([]byte(tc.header), tc.want, time.UnixMilli(now), &memo)
			if v.Code != tc.code || v.Marketplace != tc.market {
				t.Errorf("%s: %v, marketplace %d; want %v, %d", tc.name, v.Code, v.Marketplace, tc.code, tc.market)
			}
		}
	}
}

// A key in the memo becomes invalid with its record, and at its expiry.
func TestMemoDoesNotOutliveTheKey(t *testing.T) {
	table := auth.NewTable()
	revoked, kept := generate(t, auth.Auction), generate(t, auth.Auction)
	put(t, table, revoked, 1, 0)
	put(t, table, kept, 1, now+10)
	var memo auth.Memo
	check := func(k auth.Key, at int64) apierr.Code {
		return table.Check([]byte("Bearer "+k.String()), auth.Auction, time.UnixMilli(at), &memo).Code
	}
	if check(revoked, now) != apierr.OK || check(kept, now) != apierr.OK {
		t.Fatal("good keys were refused")
	}
	table.Delete("unknown!")
	table.Delete("not even an id")
	table.Delete(revoked.ID.String())
	if check(revoked, now) != apierr.InvalidAPIKey {
		t.Error("a revoked key is still good")
	}
	if check(kept, now) != apierr.OK || check(kept, now+10) != apierr.InvalidAPIKey {
		t.Error("a key is good until its time and no longer")
	}

	// Another table of the same process must not use entries that this one stored in the memo.
	if v := auth.NewTable().Check([]byte("Bearer "+kept.String()), auth.Auction, time.UnixMilli(now), &memo); v.Code != apierr.InvalidAPIKey {
		t.Errorf("an empty table said %v", v.Code)
	}
	table.Reset()
	if check(kept, now) != apierr.InvalidAPIKey {
		t.Error("a key outlived the reset of its table")
	}
}

func FuzzParse(f *testing.F) {
	k, _ := auth.Generate(auth.Auction, mathrand.NewChaCha8([32]byte{1}))
	f.Add([]byte(k.String()))
	f.Add([]byte("gavel_mgt_00000000_00000000000000000000000000000000000000"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if k, ok := auth.Parse(text); ok && k.String() != string(text) {
			t.Errorf("%q was read as %q", text, k)
		}
	})
}

// A node that cannot know what was revoked accepts no key, be it valid, unknown or of the other kind, seen before or not; and tokens
// end with the key that they were issued for.
func TestATableThatIsNotCurrentAcceptsNoKey(t *testing.T) {
	table, current := auth.NewTable(), true
	table.RequireCurrent(func(at time.Time) bool { return current && at.UnixMilli() == now })
	good, unknown := generate(t, auth.Auction), generate(t, auth.Auction)
	put(t, table, good, 1, 0)
	var memo auth.Memo
	check := func(k auth.Key, want apierr.Code) {
		t.Helper()
		if got := table.Check([]byte("Bearer "+k.String()), auth.Auction, time.UnixMilli(now), &memo).Code; got != want {
			t.Errorf("current %t: %v, want %v", current, got, want)
		}
	}
	for _, current = range []bool{true, false, true} {
		want := map[bool][2]apierr.Code{true: {apierr.OK, apierr.InvalidAPIKey}, false: {apierr.ServiceUnavailable, apierr.ServiceUnavailable}}[current]
		check(good, want[0])
		check(unknown, want[1])
		if lives := table.Valid(good.ID, auth.Auction, 1, time.UnixMilli(now)); lives != current {
			t.Errorf("current %t: a key lives %t", current, lives)
		}
	}
}

// TestLastUsed: only an accepted key counts, to the minute, also through a memo and after the keys came from a snapshot.
func TestLastUsed(t *testing.T) {
	table := auth.NewTable()
	k := generate(t, auth.Auction)
	put(t, table, k, 1, 0)
	id, header := k.ID.String(), []byte("Bearer "+k.String())
	const minute = int64(60_000)
	at := now / minute * minute
	var memo auth.Memo
	used := func(what string, want int64) {
		t.Helper()
		if got := table.LastUsed(id); got != want {
			t.Errorf("%s: last used %d, want %d", what, got, want)
		}
	}
	used("never", 0)
	table.Check(header, auth.Management, time.UnixMilli(at), &memo)
	table.Check([]byte("Bearer "+generate(t, auth.Auction).String()), auth.Auction, time.UnixMilli(at), &memo)
	used("refused for management, and another key", 0)
	table.Check(header, auth.Auction, time.UnixMilli(at+minute-1), &memo)
	used("accepted", at)
	table.Check(header, auth.Auction, time.UnixMilli(at+5*minute), &memo)
	used("accepted again, from the memo", at+5*minute)
	table.Reset()
	used("removed for a snapshot", 0)
	put(t, table, k, 1, 0)
	used("in the snapshot", at+5*minute)
	table.Delete(id)
	put(t, table, k, 1, 0)
	used("revoked, and another with its id", 0)
	if got := table.LastUsed("nonsense of another length"); got != 0 {
		t.Errorf("an id that is none was used at %d", got)
	}
}

// TestRequests: accepted requests are counted for their UTC day and the day before it; a day without any, a clock that goes back, and
// refused requests change nothing.
func TestRequests(t *testing.T) {
	table := auth.NewTable()
	k := generate(t, auth.Auction)
	put(t, table, k, 1, 0)
	header := []byte("Bearer " + k.String())
	const day = int64(24 * 60 * 60_000)
	noon := now/day*day + day/2
	var memo auth.Memo
	requests := func(at int64, count int) {
		for range count {
			table.Check(header, auth.Auction, time.UnixMilli(at), &memo) // Before the body is read.
			table.Check(header, auth.Auction, time.UnixMilli(at), &memo).Count()
			table.Check(header, auth.Management, time.UnixMilli(at), &memo).Count() // Refused.
		}
	}
	want := func(what string, at, today, yesterday int64) {
		t.Helper()
		if gotToday, gotYesterday := table.Requests(k.ID.String(), time.UnixMilli(at)); gotToday != today || gotYesterday != yesterday {
			t.Errorf("%s: %d today and %d yesterday, want %d and %d", what, gotToday, gotYesterday, today, yesterday)
		}
	}
	want("never", noon, 0, 0)
	requests(noon, 3)
	requests(noon+5*60_000, 2)
	want("on the first day", noon+5*60_000, 5, 0)
	want("on the second one, before any", noon+day, 0, 5)
	requests(noon+day, 4)
	requests(noon, 1) // The clock was set back.
	want("on the second one", noon+day, 5, 5)
	want("two days later", noon+3*day, 0, 0)
	requests(noon+3*day, 1)
	want("after a day without any", noon+3*day, 1, 0)
	table.Reset()
	put(t, table, k, 1, 0)
	want("in the snapshot", noon+3*day, 1, 0)
	if today, yesterday := table.Requests("nonsense", time.UnixMilli(noon)); today+yesterday != 0 {
		t.Errorf("an id that is none has %d and %d requests", today, yesterday)
	}
}
