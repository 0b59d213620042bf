package wire

import (
	"bytes"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/event"
)

// required reads a string of 1 to most characters.
func (s *eventScanner) required(member rank, most int, code apierr.Code, path, rule string) []byte {
	from := s.pos
	sp, p := s.stringValue()
	text := s.text(sp)
	if p != present || len(text) == 0 || longer(text, most) {
		s.violate(row(member), code, path, rule, from)
	}
	return text
}

// optional reads a string of at most most characters. It returns nil for an absent, empty or blank one.
func (s *eventScanner) optional(member rank, most int, code apierr.Code, path, rule string) []byte {
	from := s.pos
	sp, p := s.optionalString()
	text := s.text(sp)
	if p == wrong || longer(text, most) {
		s.violate(row(member), code, path, rule, from)
	}
	if p != present {
		return nil
	}
	return text
}

// tolerated reads a string of at most most characters. It drops any other value without a violation and returns nil.
func (s *eventScanner) tolerated(most int) []byte {
	sp, p := s.optionalString()
	if text := s.text(sp); p == present && !longer(text, most) {
		return text
	}
	return nil
}

// time reads the time of an event and reports whether the member is present.
func (s *eventScanner) time(path string) (millis int64, there bool) {
	from := s.pos
	sp, p := s.stringValue()
	if p == absent {
		return 0, false
	}
	millis, ok := instant(s.text(sp))
	switch {
	case p == wrong || !ok:
		s.violate(row(eventOccurredAt), apierr.InvalidEventTime, path, "must be an ISO 8601 date-time", from)
	case millis > s.latest:
		s.violate(row(eventOccurredAt), apierr.InvalidEventTime, path, "must not lie in the future", from)
	}
	return millis, true
}

func (s *eventScanner) deviceType(e *event.Event) {
	from := s.pos
	device, ok := s.device()
	if !ok {
		s.violate(row(eventDevice), apierr.InvalidDevice, s.path.device, "must be desktop or mobile", from)
	}
	switch device {
	case auction.Desktop:
		e.Device = event.Desktop
	case auction.Mobile:
		e.Device = event.Mobile
	case auction.NoDevice:
	}
}

// entityValue reads entity.
func (s *eventScanner) entityValue(e *event.Event) {
	from := s.pos
	if s.peek() != '{' {
		if s.other() == wrong {
			s.violate(row(eventEntity), apierr.BadRequest, s.path.entity, "must be an object {type, id}", from)
		}
		return
	}
	var kind, id auction.Span
	kindIs, idIs := absent, absent
	o := s.object(entityMembers, s.path.entity)
	for m := s.member(&o); m != end; m = s.member(&o) {
		switch m {
		case entityType:
			kind, kindIs = s.stringValue()
		case entityID:
			id, idIs = s.stringValue()
		}
	}
	e.EntityID, e.EntityType = s.text(id), entityTypeOf(s.text(kind))
	bound := idMax
	if e.EntityType == event.URLEntity {
		bound = urlMax
	}
	switch {
	case idIs == absent, idIs == present && id.Len == 0:
		s.violate(row(eventEntity), apierr.MissingProductID, s.path.entityID, "is required and must not be empty", missing)
	case idIs == wrong, longer(e.EntityID, bound):
		s.violate(row(eventEntity), apierr.BadRequest, s.path.entityID, "must be a string of 1 to 255 characters", from)
	case kindIs != present, e.EntityType == event.NoEntity:
		s.violate(row(eventEntity), apierr.BadRequest, s.path.entityType, "must be product, vendor, brand or url", from)
	}
}

func entityTypeOf(text []byte) event.EntityType {
	switch string(text) {
	case "product":
		return event.ProductEntity
	case "vendor":
		return event.VendorEntity
	case "brand":
		return event.BrandEntity
	case "url":
		return event.URLEntity
	}
	return event.NoEntity
}

var (
	pageMembers = []string{"type"}
	pageTypes   = [][]byte{[]byte("home"), []byte("category"), []byte("PDP"), []byte("search"), []byte("cart"), []byte("other")}
)

// pageValue reads page. In a page view it must be an object with a type; in other events it is informational and not kept.
func (s *eventScanner) pageValue(e *event.Event) {
	if s.kind != event.Pageview {
		s.skip()
		return
	}
	from := s.pos
	if s.peek() != '{' {
		s.skip()
		s.violate(row(eventPage), apierr.BadRequest, s.path.page, "must be an object with type", from)
		return
	}
	o := s.object(pageMembers, s.path.page)
	for s.member(&o) != end {
		if sp, p := s.stringValue(); p == present {
			e.PageType = pageType(s.text(sp))
		}
	}
	if e.PageType == nil {
		s.violate(row(eventPage), apierr.BadRequest, s.path.page, "must have a type that is a string", from)
	}
}

// pageType returns the interface's spelling of a page type, and "other" for an unknown type.
func pageType(text []byte) []byte {
	for _, known := range pageTypes {
		if bytes.EqualFold(text, known) {
			return known
		}
	}
	return pageTypes[len(pageTypes)-1]
}
