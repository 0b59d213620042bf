package store_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// settingsOf returns the marketplace's settings in each group.
func settingsOf(t *testing.T, w *managetest.Environment) map[ids.Group]model.Marketplace {
	t.Helper()
	all := map[ids.Group]model.Marketplace{}
	for _, g := range w.Store.Groups.Groups() {
		err := w.Store.Groups.Read(g, func(r shard.Reader) error {
			all[g], _ = shard.Queries{R: r}.Marketplace(managetest.Main)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestSettingsReachEveryGroup(t *testing.T) {
	w := managetest.New(t)
	want, err := w.Store.Tenant(managetest.Main).ChangeSettings(t.Context(), func(m *model.Marketplace) error {
		m.PostPaid = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	all := settingsOf(t, w)
	if len(all) < 3 {
		t.Fatalf("%d groups; the test needs more", len(all))
	}
	for g, got := range all {
		if !got.PostPaid || !reflect.DeepEqual(got, want) {
			t.Errorf("group %d has %+v, want %+v", g, got, want)
		}
	}
	if !w.Store.Tenant(managetest.Main).Settings().PostPaid {
		t.Error("auctions do not see it")
	}
}

type groups = store.Groups

// failing refuses proposals to one group.
type failing struct {
	groups
	group ids.Group
	down  bool
}

func (f *failing) ProposeAt(ctx context.Context, g ids.Group, cmd []byte) ([]byte, uint64, error) {
	if f.down && g == f.group {
		return nil, 0, store.ErrUnavailable
	}
	return f.groups.ProposeAt(ctx, g, cmd)
}

// TestSettingsThatFailHalfwayAreCompleted: repeating a change completes it, although the meta group has it already.
func TestSettingsThatFailHalfwayAreCompleted(t *testing.T) {
	w := managetest.New(t)
	f := &failing{w.Store.Groups, 2, true}
	tenant := (&store.Store{Groups: f, Now: w.Now, View: w.Store.View}).Tenant(managetest.Main)
	change := func() error {
		_, err := tenant.ChangeSettings(t.Context(), func(m *model.Marketplace) error {
			m.PostPaid = true
			return nil
		})
		return err
	}
	if err := change(); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("a group is down, but: %v", err)
	}
	if all := settingsOf(t, w); !all[w.Store.Groups.Meta()].PostPaid || all[2].PostPaid {
		t.Fatalf("the meta group comes first: %+v", all)
	}
	f.down = false
	if err := change(); err != nil {
		t.Fatal(err)
	}
	for g, got := range settingsOf(t, w) {
		if !got.PostPaid {
			t.Errorf("group %d was left behind", g)
		}
	}
}

// TestSettingsOfTwoNodesEndAlike: two nodes with their own stores and no common lock end with the same settings.
func TestSettingsOfTwoNodesEndAlike(t *testing.T) {
	w := managetest.New(t)
	for round := range 20 {
		if err := errors.Join(together(4, func(i int) error {
			node := &store.Store{Groups: w.Store.Groups, Now: w.Now, View: w.Store.View}
			_, err := node.Tenant(managetest.Main).ChangeSettings(t.Context(), func(m *model.Marketplace) error {
				m.Name = fmt.Sprintf("%d of round %d", i, round)
				return nil
			})
			return err
		})...); err != nil {
			t.Fatal(err)
		}
		all := settingsOf(t, w)
		for g, got := range all {
			if !reflect.DeepEqual(got, all[w.Store.Groups.Meta()]) {
				t.Fatalf("group %d has %+v, the meta group %+v", g, got, all[w.Store.Groups.Meta()])
			}
		}
	}
}

// TestARefusedChangeOfSettingsChangesNothing: neither does one without a difference.
func TestARefusedChangeOfSettingsChangesNothing(t *testing.T) {
	w := managetest.New(t)
	tenant := w.Store.Tenant(managetest.Main)
	nothing := func(*model.Marketplace) error { return nil }
	if _, err := tenant.ChangeSettings(t.Context(), nothing); err != nil { // It propagates the settings, like the start of a node.
		t.Fatal(err)
	}
	before := settingsOf(t, w)
	refused := errors.New("refused")
	_, err := tenant.ChangeSettings(t.Context(), func(m *model.Marketplace) error {
		m.PostPaid = true
		return refused
	})
	if !errors.Is(err, refused) {
		t.Fatal(err)
	}
	if _, err := tenant.ChangeSettings(t.Context(), nothing); err != nil {
		t.Fatal(err)
	}
	if after := settingsOf(t, w); !reflect.DeepEqual(before, after) {
		t.Errorf("%+v became %+v", before, after)
	}
}

// hastyReader makes a change by another node after a number of reads of the meta group.
type hastyReader struct {
	groups
	after  int
	change func()
}

func (h *hastyReader) Read(g ids.Group, fn func(shard.Reader) error) error {
	h.count(g)
	return h.groups.Read(g, fn)
}

func (h *hastyReader) ReadWritten(g ids.Group, fn func(shard.Reader) error) error {
	h.count(g)
	return h.groups.ReadWritten(g, fn)
}

func (h *hastyReader) count(g ids.Group) {
	if g == h.groups.Meta() {
		if h.after--; h.after == 0 {
			h.change()
		}
	}
}

// TestPropagationUndoesNoChange: whenever another node changes the settings while this one copies its own change to the
// groups, both changes hold.
func TestPropagationUndoesNoChange(t *testing.T) {
	for after := 1; ; after++ {
		w := managetest.New(t)
		other := w.Store.Tenant(managetest.Main)
		h := &hastyReader{groups: w.Store.Groups, after: after, change: func() {
			_, err := other.ChangeSettings(t.Context(), func(m *model.Marketplace) error { m.VendorMax = 7; return nil })
			if err != nil {
				t.Error(err)
			}
		}}
		tenant := (&store.Store{Groups: h, Now: w.Now, View: w.Store.View}).Tenant(managetest.Main)
		if _, err := tenant.ChangeSettings(t.Context(), func(m *model.Marketplace) error { m.PostPaid = true; return nil }); err != nil {
			t.Fatal(err)
		}
		if h.after > 0 {
			if after < 5 {
				t.Fatalf("the meta group was read %d times: the test says little", after-1)
			}
			return
		}
		for g, got := range settingsOf(t, w) {
			if !got.PostPaid || got.VendorMax != 7 {
				t.Errorf("the other change came before read %d: group %d has %+v", after, g, got)
			}
		}
	}
}
