package creative

import (
	"context"
	"unicode/utf8"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// entityIDMax is the longest id of a product, vendor, brand or category in characters. BOUND: the interface's.
const entityIDMax = 255

// SlotDestination is the target of a click on a banner.
type SlotDestination struct {
	DestinationType string `json:"destinationType" enum:"product,vendor,brand,category,url"`
	DestinationID   string `json:"destinationId" minLength:"1" maxLength:"2083" doc:"The id, at most 255 characters; for url the URL itself, http or https."`
}

// SlotFallback is a banner that belongs to the marketplace itself.
type SlotFallback struct {
	DeviceType  string          `json:"deviceType" enum:"desktop,mobile"`
	URL         string          `json:"url" minLength:"1" maxLength:"2083" format:"uri" doc:"http or https."`
	Width       int64           `json:"width" minimum:"1"`
	Height      int64           `json:"height" minimum:"1"`
	ContentType string          `json:"contentType" enum:"image/jpeg,image/png,image/gif,image/webp,video/mp4"`
	Destination SlotDestination `json:"destination"`
}

// SlotFallbacks are a slot's fallbacks.
type SlotFallbacks struct {
	Results []SlotFallback `json:"results" maxItems:"2" doc:"At most one a device."`
}

type (
	putFallbackInput struct {
		OneSlot
		Body SlotFallbacks
	}
	fallbackOutput struct{ Body SlotFallbacks }
)

func getFallback(ctx context.Context, in *OneSlot) (*fallbackOutput, error) {
	return fallbackAnswer(resource.Tenant(ctx).Slot(ctx, in.SlotID))
}

func putFallback(ctx context.Context, in *putFallbackInput) (*fallbackOutput, error) {
	if found := in.Body.check(); len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	return fallbackAnswer(resource.Tenant(ctx).ChangeSlot(ctx, in.SlotID, func(s *store.Slot) {
		s.Fallback = make([]store.Fallback, len(in.Body.Results))
		for i, f := range in.Body.Results {
			s.Fallback[i] = store.Fallback{
				DeviceType: f.DeviceType, URL: f.URL, Width: f.Width, Height: f.Height, ContentType: f.ContentType,
				DestinationType: f.Destination.DestinationType, DestinationID: f.Destination.DestinationID,
			}
		}
	}))
}

// check checks the rules that concern more than one member.
func (f *SlotFallbacks) check() (found []resource.Violation) {
	devices := map[string]bool{}
	for i := range f.Results {
		x := &f.Results[i]
		if devices[x.DeviceType] {
			found = append(found, resource.At("value_error", "a device has at most one fallback", "body", "results", i, "deviceType"))
		}
		devices[x.DeviceType] = true
		if !isWebURL(x.URL) {
			found = append(found, notWeb([]any{"body", "results", i, "url"}))
		}
		at := []any{"body", "results", i, "destination", "destinationId"}
		switch d := &x.Destination; {
		case d.DestinationType == "url" && !isWebURL(d.DestinationID):
			found = append(found, notWeb(at))
		case d.DestinationType != "url" && utf8.RuneCountInString(d.DestinationID) > entityIDMax:
			found = append(found, resource.At("value_error", "must have at most 255 characters, unless it is a URL", at...))
		}
	}
	return found
}

func fallbackAnswer(s store.Slot, err error) (*fallbackOutput, error) {
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	out := &fallbackOutput{SlotFallbacks{Results: make([]SlotFallback, len(s.Fallback))}}
	for i, f := range s.Fallback {
		out.Body.Results[i] = SlotFallback{f.DeviceType, f.URL, f.Width, f.Height, f.ContentType, SlotDestination{f.DestinationType, f.DestinationID}}
	}
	return out, nil
}
