package command

import (
	"errors"
	"testing"
)

func TestStagedUsersAscend(t *testing.T) {
	for _, users := range [][]uint64{{2, 1}, {1, 1}} {
		cmd := AppendStageSegment(nil, now, &StageSegment{Users: users})
		c, _ := Open(cmd)
		if _, err := ReadStageSegment(&c); !errors.Is(err, ErrUnreadable) {
			t.Errorf("%v: %v", users, err)
		}
	}
	r := SegmentResult{Added: 1, Removed: 2, Size: 3}
	if got, err := ReadSegmentResult(AppendSegmentResult(nil, &r)); err != nil || got != r {
		t.Errorf("%+v, %v", got, err)
	}
	r = SegmentResult{Refusal: TooMany}
	if got, err := ReadSegmentResult(AppendSegmentResult(nil, &r)); err != nil || got != r {
		t.Errorf("%+v, %v", got, err)
	}
}
