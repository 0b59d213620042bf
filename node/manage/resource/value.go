package resource

import (
	"encoding/json"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

// Decimal is a decimal number exactly as a request wrote it; it never passes through a float.
type Decimal struct{ Text string }

// Schema says that a decimal is a JSON number.
func (Decimal) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeNumber} }

// UnmarshalJSON stores the digits.
func (d *Decimal) UnmarshalJSON(text []byte) error {
	d.Text = string(text)
	return nil
}

// MarshalJSON writes the stored digits.
func (d Decimal) MarshalJSON() ([]byte, error) { return []byte(d.Text), nil }

// String returns the digits, and nothing of no number.
func (d *Decimal) String() string {
	if d == nil {
		return ""
	}
	return d.Text
}

// Micros reads the number as an amount in major units.
func (d Decimal) Micros() (money.Micros, error) { return money.ParseDecimal(d.Text) }

// Major is an amount that is answered as a decimal number of major units.
type Major money.Micros

// Schema says that the amount is a JSON number.
func (Major) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeNumber} }

// MarshalJSON writes the exact amount.
func (m Major) MarshalJSON() ([]byte, error) { return money.AppendDecimal(nil, money.Micros(m)), nil }

// Object is a free-form JSON object, which is stored as it was sent. The marketplace chooses the names of its members.
type Object json.RawMessage

// Schema allows any object.
func (Object) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

// UnmarshalJSON stores the text.
func (o *Object) UnmarshalJSON(text []byte) error { return (*json.RawMessage)(o).UnmarshalJSON(text) }

// MarshalJSON writes the stored text.
func (o Object) MarshalJSON() ([]byte, error) { return json.RawMessage(o).MarshalJSON() }

// Time is a moment in Unix milliseconds, written as RFC 3339 in UTC with milliseconds.
type Time int64

// TimeOf returns nil for 0, which means no time in the engine.
func TimeOf(millis int64) *Time {
	if millis == 0 {
		return nil
	}
	return new(Time(millis))
}

const timeLayout = "2006-01-02T15:04:05.000Z"

// Schema says that the time is a date-time.
func (Time) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time"}
}

// MarshalJSON writes the time.
func (t Time) MarshalJSON() ([]byte, error) {
	return time.UnixMilli(int64(t)).UTC().AppendFormat(nil, `"`+timeLayout+`"`), nil
}

// UnmarshalJSON reads a date-time with any offset. REQUIRES: the kit has checked its format.
func (t *Time) UnmarshalJSON(text []byte) error {
	at, err := time.Parse(`"`+time.RFC3339+`"`, string(text))
	*t = Time(at.UnixMilli())
	return err
}

// KnownZone reports whether a time zone has that name. "Local" is refused, because it differs between nodes.
func KnownZone(name string) bool {
	_, err := time.LoadLocation(name)
	return err == nil && name != "Local"
}

// UUID is an id that Gavel assigned.
type UUID = ids.UUID

// ParseUUID reads an id. REQUIRES: the kit has checked it, because the parameter or member has the format uuid; otherwise it panics.
func ParseUUID(text string) UUID {
	id, err := ids.Parse(text)
	if err != nil {
		panic("the kit has checked this id: " + err.Error())
	}
	return id
}
