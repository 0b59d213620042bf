package store_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
)

// together runs fn several times at once and returns the errors.
func together(n int, fn func(i int) error) []error {
	failed := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { failed[i] = fn(i) })
	}
	wg.Wait()
	return failed
}

func TestOfManyCreationsOfOneNameOneHolds(t *testing.T) {
	tenant := managetest.New(t).Store.Tenant(managetest.Main)
	taken := 0
	for _, err := range together(8, func(i int) error {
		_, err := tenant.CreateUser(t.Context(), store.User{Email: "ada@example.com", GivenName: fmt.Sprint(i)})
		return err
	}) {
		if errors.Is(err, store.ErrAlreadyExists) {
			taken++
		} else if err != nil {
			t.Error(err)
		}
	}
	if taken != 7 {
		t.Errorf("%d of 8 were refused, want 7", taken)
	}
}

func TestChangesAtTheSameTimeAllHold(t *testing.T) {
	tenant := managetest.New(t).Store.Tenant(managetest.Main)
	if _, err := tenant.CreateSlots(t.Context(), []store.Slot{{ExternalID: "s"}}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(together(8, func(i int) error {
		_, err := tenant.ChangeSlot(t.Context(), "s", func(s *store.Slot) { s.Fallback = append(s.Fallback, store.Fallback{URL: fmt.Sprint(i)}) })
		return err
	})...); err != nil {
		t.Fatal(err)
	}
	s, err := tenant.Slot(t.Context(), "s")
	if err != nil || len(s.Fallback) != 8 {
		t.Errorf("%d of 8 changes hold, %v", len(s.Fallback), err)
	}
}

func TestAnAddressThatMovesLeavesNothingBehind(t *testing.T) {
	tenant := managetest.New(t).Store.Tenant(managetest.Main)
	ada, err := tenant.CreateUser(t.Context(), store.User{Email: "ada@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tenant.ChangeUser(t.Context(), ada.ID, func(u *store.User) { u.Email = "lovelace@example.com" }); err != nil {
		t.Fatal(err)
	}
	if _, err := tenant.UserByEmail(t.Context(), "ada@example.com"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the old address still leads to %v", err)
	}
	if err := tenant.DeleteUser(t.Context(), ada.ID); err != nil {
		t.Fatal(err)
	}
	for _, email := range []string{"ada@example.com", "LOVELACE@example.com"} {
		if _, err := tenant.CreateUser(t.Context(), store.User{Email: email}); err != nil {
			t.Errorf("%s is not free: %v", email, err)
		}
	}
}

// TestARepeatedCreationFindsItself: the first answer was lost and the idempotency key is the same, so the slot is the same.
func TestARepeatedCreationFindsItself(t *testing.T) {
	w := managetest.New(t)
	tenant := w.Store.Tenant(managetest.Main)
	create := func(externalID string) ([]store.Slot, error) {
		w.Advance(time.Second)
		ctx := store.WithIdempotencyKey(t.Context(), [32]byte{1})
		return tenant.CreateSlots(ctx, []store.Slot{{ExternalID: externalID}, {ExternalID: "b"}})
	}
	first, err := create("a")
	if err != nil {
		t.Fatal(err)
	}
	again, err := create("a")
	if err != nil || again[0].ID != first[0].ID || again[1].CreatedMillis != first[1].CreatedMillis {
		t.Errorf("repeated: %+v, %v; want %+v", again, err, first)
	}
	all, _, err := tenant.Slots(t.Context(), store.Page{Limit: 10}, func(*store.Slot) bool { return true })
	if err != nil || len(all) != 2 {
		t.Errorf("%d slots, %v; want 2", len(all), err)
	}
}

// TestAnExternalIDGoesBeforeAnID: a marketplace may choose an external id that looks like a Gavel id.
func TestAnExternalIDGoesBeforeAnID(t *testing.T) {
	tenant := managetest.New(t).Store.Tenant(managetest.Main)
	made, err := tenant.CreateSlots(t.Context(), []store.Slot{{ExternalID: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	id := made[0].ID.String()
	if got, err := tenant.Slot(t.Context(), id); err != nil || got.ExternalID != "a" {
		t.Errorf("by id: %+v, %v", got, err)
	}
	if _, err := tenant.CreateSlots(t.Context(), []store.Slot{{ExternalID: id}}); err != nil {
		t.Fatal(err)
	}
	if got, err := tenant.Slot(t.Context(), id); err != nil || got.ExternalID != id {
		t.Errorf("by external id: %+v, %v", got, err)
	}
}

// TestListsSkipWhatIsFilteredOut over more records than are read at once, and pages neither repeat nor lose any.
func TestListsSkipWhatIsFilteredOut(t *testing.T) {
	w := managetest.New(t)
	tenant := w.Store.Tenant(managetest.Main)
	for i := range 260 {
		w.Advance(time.Millisecond)
		position := "search"
		if i%90 == 0 {
			position = "landing"
		}
		if _, err := tenant.CreateSlots(t.Context(), []store.Slot{{ExternalID: fmt.Sprint(i), Position: position}}); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for after := ""; ; {
		page, more, err := tenant.Slots(t.Context(), store.Page{After: after, Limit: 1}, func(s *store.Slot) bool { return s.Position == "landing" })
		if err != nil {
			t.Fatal(err)
		}
		got, after = append(got, page[0].ExternalID), page[0].ListPosition()
		if !more {
			break
		}
	}
	if !slices.Equal(got, []string{"180", "90", "0"}) {
		t.Errorf("got %v, want newest first: 180, 90, 0", got)
	}
}

// TestInvitesAtTheSameTimeMakeOneInvitation: later invites renew the invitation of the first.
func TestInvitesAtTheSameTimeMakeOneInvitation(t *testing.T) {
	tenant := managetest.New(t).Store.Tenant(managetest.Main)
	if err := errors.Join(together(8, func(int) error {
		_, err := tenant.Invite(t.Context(), []store.Invite{{VendorID: "v1", Email: "ada@example.com"}})
		return err
	})...); err != nil {
		t.Fatal(err)
	}
	all, _, err := tenant.Invitations(t.Context(), store.Page{Limit: 10}, func(*store.Invitation) bool { return true })
	if err != nil || len(all) != 1 {
		t.Errorf("%d invitations, %v; want 1", len(all), err)
	}
}
