package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/model"
)

// pathOf writes a path in short: its state, each touch with the campaign's number and whether it was considered, and for each credit the
// item, the touch, and whether it is a halo and charged.
func (w *shopping) pathOf(p *store.PurchasePath) string {
	var text strings.Builder
	fmt.Fprintf(&text, "open %v, user %v:", p.Open, p.UserKnown)
	number := map[string]int{}
	for i := range w.campaigns {
		number[w.campaigns[i].ID.String()] = i
	}
	for _, x := range p.Touches {
		fmt.Fprintf(&text, " %v of %d considered %v;", x.Kind, number[x.CampaignID.String()], x.Considered)
	}
	for _, c := range p.Credits {
		fmt.Fprintf(&text, " item %d to touch %d of %d halo %v charged %v;", c.Item, c.Touch, number[c.CampaignID.String()], c.Halo, c.Charged > 0)
	}
	return text.String()
}

// The path of a purchase names the touches of its user in all groups, newest first, and which items they got, in the own marketplace
// only. Once it is credited nothing stored names the user, so the caller has to.
func TestThePathOfAPurchase(t *testing.T) {
	w := newShopping(t)
	tenant := w.Store.Tenant(managetest.Main)
	key := func() [16]byte { return [16]byte{byte(w.events), 1} }
	check := func(why string, of [16]byte, user uint64, want string) {
		t.Helper()
		p, err := tenant.PurchasePath(of, user)
		if err != nil {
			t.Fatal(why, err)
		}
		if got := w.pathOf(&p); got != want {
			t.Errorf("%s:\n%s, want\n%s", why, got, want)
		}
		if at := time.UnixMilli(p.HourMillis); p.Rules != model.AttributionStandard || w.Now().Sub(at) > 2*time.Hour || at.After(w.Now()) {
			t.Errorf("%s: rules %v, at %s", why, p.Rules, at)
		}
	}
	const click, view = event.Click, event.Impression
	w.touch(click, 3, 9)
	w.Advance(8 * 24 * time.Hour) // Longer than the window of listings.
	w.touch(view, 0, 1)
	w.Advance(time.Minute)
	w.touch(click, 2, 3)
	w.Advance(20 * time.Minute)
	w.buy(0, 2, 12, 5)
	bought := key()
	touches := fmt.Sprintf("user true: %v of 2 considered true; %v of 0 considered true; %[1]v of 3 considered false;", click, view)
	check("before it is credited", bought, 0, "open true, "+touches)
	w.credit(time.Minute, w.data()...)
	credited := "open false, " + touches +
		" item 0 to touch 1 of 0 halo false charged true; item 1 to touch 0 of 2 halo false charged true; item 2 to touch 0 of 2 halo true charged false;"
	check("when it is credited, by the name of the user", bought, 7, credited)
	check("when it is credited", bought, 0, "open false, user false:"+
		" item 0 to touch -1 of 0 halo false charged true; item 1 to touch -1 of 2 halo false charged true; item 2 to touch -1 of 2 halo true charged false;")
	w.Advance(time.Hour)
	w.touch(click, 1, 4) // After the purchase.
	check("an hour later", bought, 7, credited)

	w.buy(5)
	nothing := key()
	w.credit(time.Minute, w.data()...)
	check("credited to nobody", nothing, 0, "open false, user false:")
	check("credited to nobody, by the name of the user", nothing, 7,
		fmt.Sprintf("open false, user true: %v of 1 considered true; %[1]v of 2 considered true; %[2]v of 0 considered true; %[1]v of 3 considered false;", click, view))
	check("another user", nothing, 8, "open false, user true:")
	for _, x := range []store.Tenant{tenant, w.Store.Tenant(managetest.Other)} {
		of := bought
		if x.Settings().Ordinal == managetest.Main {
			of[1]++
		}
		if p, err := x.PurchasePath(of, 0); err == nil && len(p.Touches)+len(p.Credits) > 0 || err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an unknown purchase: %+v, %v", p, err)
		}
	}
}
