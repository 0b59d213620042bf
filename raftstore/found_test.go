package raftstore

import (
	"errors"
	"strings"
	"testing"
)

// Founders that are set to different numbers of groups would wait for each other for ever: who notices says both numbers.
func TestFoundersWithOtherGroupsDoNotFit(t *testing.T) {
	f := &founding{s: &Store{c: Config{Expect: 3, Groups: []uint16{0, 1}}}}
	for _, a := range []answer{
		{Expect: 3, Groups: []uint16{1, 0}},
		{Expect: 0, Groups: []uint16{0}},                // It only joins, and will be told then.
		{Expect: 3, Groups: []uint16{0}, Pending: true}, // It agreed to something; what, is seen when it is done.
	} {
		if err := f.fits(a); err != nil {
			t.Errorf("%+v: %v", a, err)
		}
	}
	err := f.fits(answer{Node: "n2", Address: "h:1", Expect: 3, Groups: []uint16{0, 1, 2, 3, 4}})
	if !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "n2 at h:1 wants to found a cluster of 5 groups, this node one of 2") {
		t.Error(err)
	}
}
