package command

import (
	"bytes"
	"errors"
	"testing"

	"github.com/gavel-ads/gavel/shard/ids"
)

// A notice is as long as its length says, and has an id. A command that ends in anything else is not read, because its
// body would be taken for another one.
func TestAMalformedNoticeIsUnreadable(t *testing.T) {
	patch := func() []byte {
		return AppendPatchBid(nil, now, &PatchBid{Campaign: ids.UUID{1}, Marketplace: 2, Bid: ids.UUID{3}})
	}
	for name, n := range map[string]Notice{
		"no id": {Marketplace: 2, Value: []byte("x")}, "no value": {Marketplace: 2, ID: ids.UUID{1}},
		"too long": {Marketplace: 2, ID: ids.UUID{1}, Value: make([]byte, NoticeMax+1)},
	} {
		if _, err := Open(AppendNotice(patch(), &n)); !errors.Is(err, ErrUnreadable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	longest := Notice{Marketplace: 2, ID: ids.UUID{1}, Value: bytes.Repeat([]byte("x"), NoticeMax)}
	c, err := Open(AppendNotice(patch(), &longest))
	if err != nil || !bytes.Equal(c.Notice.Value, longest.Value) {
		t.Errorf("the longest: %v", err)
	}
	if needs, known := Needs(AppendNotice(patch(), &longest)); needs != LevelNotices || !known {
		t.Errorf("a command with a notice needs level %d (known: %t)", needs, known)
	}
	if needs, _ := Needs(patch()); needs != LevelVersions {
		t.Errorf("the same command without one needs level %d", needs)
	}
}
