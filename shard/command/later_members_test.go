package command

import (
	"errors"
	"reflect"
	"testing"

	"github.com/gavel-ads/gavel/shard/market"
)

// TestLaterMembersNeedTheirLevel: a command with a later member has a version that needs LevelAds, and the same body
// with the old version is refused, as by the binaries of that version.
func TestLaterMembersNeedTheirLevel(t *testing.T) {
	for _, x := range commands {
		c, err := Open(x.cmd)
		if err != nil {
			t.Fatal(err)
		}
		later := c.Needs == LevelAds
		if got := len(x.name) > 15 && x.name[len(x.name)-15:] == ", later members" || c.Op == OpStageSegment || c.Op == OpCommitSegment; got != later {
			t.Errorf("%s needs level %d", x.name, c.Needs)
		}
		if c.Version != moreVersion {
			continue
		}
		old := append([]byte{}, x.cmd...)
		old[0] = Version
		o, err := Open(seal(old, 0))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.read(&o); !errors.Is(err, ErrUnreadable) {
			t.Errorf("%s is read under the first version: %v", x.name, err)
		}
	}
}

// TestLaterValuesReadBack: the stored forms of values with and without later members read back.
func TestLaterValuesReadBack(t *testing.T) {
	for _, c := range []market.Campaign{someCampaign, laterCampaign} {
		d := NewDecoder(AppendCampaign(nil, &c))
		if got := d.Campaign(); d.Err() != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("%v\n got %+v\nwant %+v", d.Err(), got, c)
		}
	}
	for _, b := range append(append([]market.Bid{}, someBids...), laterBids...) {
		d := NewDecoder(AppendBid(nil, &b))
		if got := d.Bid(); d.Err() != nil || !reflect.DeepEqual(got, b) {
			t.Errorf("%v\n got %+v\nwant %+v", d.Err(), got, b)
		}
	}
	d := NewDecoder(AppendMarketplace(nil, &laterMarketplace))
	if got := d.Marketplace(); d.Err() != nil || !reflect.DeepEqual(got, laterMarketplace) {
		t.Errorf("%v\n got %+v\nwant %+v", d.Err(), got, laterMarketplace)
	}
}

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
