package resource_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

func cursors(marketplace uint16, operation string, filters ...string) resource.Cursors {
	ctx := resource.WithCaller(context.Background(), resource.Caller{Marketplace: marketplace})
	return resource.CursorsFor(ctx, [32]byte{1}, operation, filters...)
}

func same(id string) string { return id }

// walk follows a list to its end.
func walk(t *testing.T, c resource.Cursors, limit int, fetch func(store.Page) ([]string, bool, error)) (all []string) {
	t.Helper()
	cursor := ""
	for {
		page, end, err := resource.List(c, cursor, limit, same, fetch)
		if err != nil {
			t.Fatal(err)
		}
		if end.HasMore == (end.NextPage == "") || len(end.NextPage) > 512 || strings.ContainsAny(end.NextPage, "+/= ") {
			t.Fatalf("hasMore %v with the cursor %q of %d characters", end.HasMore, end.NextPage, len(end.NextPage))
		}
		all = append(all, page...)
		if !end.HasMore {
			return all
		}
		cursor = end.NextPage
	}
}

// TestListVisitsEverything: page by page a list gives every id once, whatever the ids are: as long as they may be, alike
// for hundreds of characters, in scripts of four bytes, with a zero byte in front.
func TestListVisitsEverything(t *testing.T) {
	long := strings.Repeat("𐍈", 250)
	ids := []string{"", "\x00", "\x00a", "a", "a\x00", "b", strings.Repeat("x", 255), strings.Repeat("x", 254) + "y", strings.Repeat("é", 255)}
	ids = ids[1:] // No id is empty.
	for _, end := range []string{"a", "b", "c", "dd", "𐍈", "z"} {
		ids = append(ids, long+end)
	}
	slices.Sort(ids)
	for _, limit := range []int{1, 2, 3, 100} {
		if got := walk(t, cursors(1, "list"), limit, resource.Sorted(ids, same)); !slices.Equal(got, ids) {
			t.Errorf("limit %d: %d of %d ids", limit, len(got), len(ids))
		}
	}
}

// TestListWhileItChanges: the id at which a cursor stands may be deleted; no remaining item is skipped.
func TestListWhileItChanges(t *testing.T) {
	long := strings.Repeat("𐍈", 250)
	for _, ids := range [][]string{{"a", "b", "c"}, {long + "a", long + "b", long + "c"}} {
		_, end, err := resource.List(cursors(1, "list"), "", 2, same, resource.Sorted(ids, same))
		if err != nil {
			t.Fatal(err)
		}
		left := []string{ids[0], ids[2]}
		page, _, err := resource.List(cursors(1, "list"), end.NextPage, 2, same, resource.Sorted(left, same))
		if err != nil || !slices.Contains(page, ids[2]) {
			t.Errorf("%.8q was skipped: %d ids, %v", ids[2], len(page), err)
		}
	}
}

// TestCursorIsBound: a cursor opens only where it was made, and no changed cursor opens anywhere.
func TestCursorIsBound(t *testing.T) {
	mine := cursors(1, "listProducts", "v1", "a")
	cursor := mine.Encode("p7")
	if position, err := mine.Decode(cursor); err != nil || position != "p7" {
		t.Fatalf("%q, %v", position, err)
	}
	for name, c := range map[string]resource.Cursors{
		"another tenant":             cursors(2, "listProducts", "v1", "a"),
		"another operation":          cursors(1, "listVendors", "v1", "a"),
		"another filter":             cursors(1, "listProducts", "v2", "a"),
		"fewer filters":              cursors(1, "listProducts", "v1"),
		"the same letters elsewhere": cursors(1, "listProducts", "v", "1a"),
	} {
		if _, err := c.Decode(cursor); err == nil {
			t.Errorf("%s opens it", name)
		}
	}
	for i := range cursor {
		changed := []byte(cursor)
		changed[i] ^= 1
		if position, err := mine.Decode(string(changed)); err == nil {
			t.Errorf("the cursor with another character %d opens as %q", i, position)
		}
	}
	for _, text := range []string{"x", cursor[:len(cursor)-1], cursor + "A", cursor + "=", " " + cursor, strings.Repeat("A", 600)} {
		if _, err := mine.Decode(text); err == nil {
			t.Errorf("%.40q opens", text)
		}
	}
}

func TestNewestFirst(t *testing.T) {
	older, newer := resource.NewestFirst(999, "a"), resource.NewestFirst(1_790_000_000_000, "z")
	if newer >= older || resource.NewestFirst(5, "a") >= resource.NewestFirst(5, "b") {
		t.Error("later times come first, then ids in order")
	}
}
