package store_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
)

// describe changes the description of a template.
func describe(t *testing.T, tenant store.Tenant, id ids.UUID, text string) {
	t.Helper()
	_, err := store.Templates().Change(t.Context(), tenant, id, func(x *store.Template) error {
		x.Description = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func hero(t *testing.T, tenant store.Tenant) ids.UUID {
	t.Helper()
	x := store.Template{Name: "Hero", Description: "1", Schema: []byte("{}")}
	if err := tenant.CreateTemplate(t.Context(), &x); err != nil {
		t.Fatal(err)
	}
	return x.ID
}

// numbers returns the numbers of the versions of a template. The description of each has to be its number.
func numbers(t *testing.T, tenant store.Tenant, id ids.UUID) (all []int) {
	t.Helper()
	versions, err := tenant.TemplateVersions(id)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range versions {
		if x.Description != fmt.Sprint(x.Version) {
			t.Errorf("version %d has what %s had", x.Version, x.Description)
		}
		all = append(all, x.Version)
	}
	return all
}

// TestATemplateKeepsItsNewestVersions: newest first, at most TemplateVersionsMax, through several rounds of the ring, and apart from
// those of other templates.
func TestATemplateKeepsItsNewestVersions(t *testing.T) {
	tenant := managetest.New(t).Store.Tenant(managetest.Main)
	id := hero(t, tenant)
	other := store.Template{Name: "Other", Description: "1", Schema: []byte("{}")}
	if err := tenant.CreateTemplate(t.Context(), &other); err != nil {
		t.Fatal(err)
	}
	var want []int
	for n := 1; n <= 3*store.TemplateVersionsMax; n++ {
		if n > 1 {
			describe(t, tenant, id, fmt.Sprint(n))
			describe(t, tenant, id, fmt.Sprint(n)) // It changes nothing, so it makes no version.
		}
		want = slices.Insert(want, 0, n)
		want = want[:min(n, store.TemplateVersionsMax)]
		if got := numbers(t, tenant, id); !slices.Equal(got, want) {
			t.Fatalf("after change %d there are %v", n, got)
		}
	}
	if got := numbers(t, tenant, other.ID); !slices.Equal(got, []int{1}) {
		t.Errorf("the other template has %v", got)
	}
}

// TestARestoredVersionIsANewOne: the versions before it stay; a refusal, an unknown number and what is there already write nothing.
func TestARestoredVersionIsANewOne(t *testing.T) {
	tenant := managetest.New(t).Store.Tenant(managetest.Main)
	id := hero(t, tenant)
	describe(t, tenant, id, "2")
	refused, allow := errors.New("refused"), func(*store.Template) error { return nil }
	if _, err := tenant.RestoreTemplate(t.Context(), id, 1, func(*store.Template) error { return refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
	if _, err := tenant.RestoreTemplate(t.Context(), id, 3, allow); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	if _, err := tenant.RestoreTemplate(t.Context(), id, 2, allow); err != nil {
		t.Error(err)
	}
	if got := numbers(t, tenant, id); !slices.Equal(got, []int{2, 1}) {
		t.Errorf("there are %v", got)
	}
	x, err := tenant.RestoreTemplate(t.Context(), id, 1, allow)
	if err != nil || x.Version != 3 || x.Description != "1" {
		t.Errorf("restored %+v, %v", x, err)
	}
}

// TestChangesAtTheSameMomentAllHaveAVersion: each of the concurrent changes is found again, with a number of its own.
func TestChangesAtTheSameMomentAllHaveAVersion(t *testing.T) {
	tenant := managetest.New(t).Store.Tenant(managetest.Main)
	id := hero(t, tenant)
	var wait sync.WaitGroup
	for range store.TemplateVersionsMax - 1 {
		wait.Go(func() {
			_, err := store.Templates().Change(t.Context(), tenant, id, func(x *store.Template) error {
				x.Description = fmt.Sprint(x.Version + 1)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if got := numbers(t, tenant, id); len(got) != store.TemplateVersionsMax || got[0] != store.TemplateVersionsMax {
		t.Errorf("there are %v", got)
	}
}
