package store_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
)

// TestATemplateNameIsTakenOnce: of many templates that are created with a name at the same moment, in whatever case, one gets it.
func TestATemplateNameIsTakenOnce(t *testing.T) {
	tenant := managetest.New(t).Store.Tenant(managetest.Main)
	var wait sync.WaitGroup
	results := make([]error, 16)
	for i := range results {
		wait.Go(func() {
			x := store.Template{Name: "Hero", Schema: []byte("{}")}
			if i%2 == 1 {
				x.Name = strings.ToUpper(x.Name)
			}
			results[i] = tenant.CreateTemplate(t.Context(), &x)
		})
	}
	wait.Wait()
	made := 0
	for _, err := range results {
		if err == nil {
			made++
		} else if !errors.Is(err, store.ErrAlreadyExists) {
			t.Error(err)
		}
	}
	all, more, err := store.Templates().List(tenant, store.Page{Limit: 100}, nil)
	if made != 1 || len(all) != 1 || more || err != nil {
		t.Errorf("%d were made, %d are listed, %v", made, len(all), err)
	}
}

// TestARepeatUnderAnIdempotencyKeyFindsItsOwn: what was created with a seed is found again with it, after a restart too.
func TestARepeatUnderAnIdempotencyKeyFindsItsOwn(t *testing.T) {
	tenant := managetest.New(t).Store.Tenant(managetest.Main)
	var first store.Template
	for i := range 2 {
		ctx := store.WithIdempotencyKey(t.Context(), [32]byte{7})
		x := store.Template{Name: "Hero", Schema: []byte("{}")}
		if err := tenant.CreateTemplate(ctx, &x); err != nil {
			t.Fatal(err)
		}
		p := store.Placement{ExternalID: "top", Template: x.ID}
		if err := tenant.CreatePlacement(ctx, &p); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = x
		}
		if x.ID != first.ID || p.Template != first.ID {
			t.Errorf("a repeat made %s, the first time %s", x.ID, first.ID)
		}
	}
}
