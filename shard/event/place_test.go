package event

import "testing"

func TestPlaceKeepsItsParts(t *testing.T) {
	seen := map[Place]bool{}
	for placement := range uint8(PlacementsMax + 1) {
		for device := range Device(Devices) {
			for channel := range Channel(Channels) {
				p := PlaceOf(placement, device, channel)
				if p.Placement() != placement || p.Device() != device || p.Channel() != channel || !p.Valid() || seen[p] {
					t.Errorf("place %#x of %d, %v, %v", p, placement, device, channel)
				}
				if p.IsPlacement() != (device == UnknownDevice && channel == OnSite) {
					t.Errorf("place %#x is a placement: %v", p, p.IsPlacement())
				}
				seen[p] = true
			}
		}
	}
	if Place(0x30).Valid() {
		t.Error("a fourth device is valid")
	}
	for text, want := range map[string]Channel{"": OnSite, "onsite": OnSite, "offsite": OffSite, "instore": InStore, "ONSITE": OtherChannel} {
		if got := ChannelOf([]byte(text)); got != want || text != "" && want != OtherChannel && got.String() != text {
			t.Errorf("channel %q is %v", text, got)
		}
	}
}
