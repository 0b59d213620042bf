package event

// Place is where an interaction happened, as far as reports tell places apart: the placementId of the auction, and the device
// and channel of the event. It is part of stored records and keys.
type Place uint8

// PlacementsMax is the largest placementId that fits a Place. The interface has 1 to 8, and 0 for none.
const PlacementsMax = 15

// Device is the device of an event.
type Device uint8

// The devices, as Event.Device has them.
const (
	UnknownDevice Device = iota
	Desktop
	Mobile
	Devices = 3
)

// Channel is the channel of an event.
type Channel uint8

// The channels. An event without a channel is OnSite. OtherChannel is any text that the interface does not name.
const (
	OnSite Channel = iota
	OffSite
	InStore
	OtherChannel
	Channels = 4
)

var channelNames = [Channels]string{"onsite", "offsite", "instore", "other"}

// String returns the name of the channel in the interface.
func (c Channel) String() string { return channelNames[c%Channels] }

var deviceNames = [Devices]string{"unknown", "desktop", "mobile"}

// String returns the name of the device in the interface.
func (d Device) String() string { return deviceNames[d%Devices] }

// PlaceOf returns the place of a placement, a device and a channel. REQUIRES: placement is at most PlacementsMax.
func PlaceOf(placement uint8, device Device, channel Channel) Place {
	return Place(placement&PlacementsMax | uint8(device)<<4 | uint8(channel)<<6)
}

// Placement is the placementId of the auction, 0 for none.
func (p Place) Placement() uint8 { return uint8(p) & PlacementsMax }

// Device is the device of the event.
func (p Place) Device() Device { return Device(p >> 4 & 3) }

// Channel is the channel of the event.
func (p Place) Channel() Channel { return Channel(p >> 6) }

// IsPlacement reports whether nothing but the placement is known, as in records of before command.LevelPlaces.
func (p Place) IsPlacement() bool { return p <= PlacementsMax }

// Valid reports whether PlaceOf can have made the place.
func (p Place) Valid() bool { return p.Device() < Devices }

// ChannelOf returns the channel that a text of the interface names.
func ChannelOf(text []byte) Channel {
	switch string(text) {
	case "", "onsite":
		return OnSite
	case "offsite":
		return OffSite
	case "instore":
		return InStore
	default:
		return OtherChannel
	}
}
