package wire

import (
	"cmp"
	"slices"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/event"
)

// Bounds of an event's texts, in characters.
const (
	eventIDMax       = 256
	resolvedBidIDMax = 512
	labelMax         = 32    // Of a channel or a click type.
	urlMax           = 2_083 // Of the id of an entity of type url.
)

// The members of events of all kinds. eventKnown lists those of each kind.
const (
	eventID = iota
	eventOccurredAt
	eventUserID
	eventResolvedBidID
	eventExternalCampaign
	eventExternalVendor
	eventEntity
	eventDevice
	eventChannel
	eventClickType
	eventAttribution
	eventPlacement
	eventPage
	eventObject
	eventItems
	eventPurchasedAt
	eventReturnOf
)

const (
	eventCommon = 1<<eventID | 1<<eventOccurredAt | 1<<eventUserID | 1<<eventDevice | 1<<eventChannel
	eventTouch  = eventCommon | 1<<eventResolvedBidID | 1<<eventExternalCampaign | 1<<eventExternalVendor |
		1<<eventEntity | 1<<eventAttribution | 1<<eventPlacement | 1<<eventPage | 1<<eventObject
)

var (
	arrayMembers = []string{"impressions", "clicks", "purchases", "pageviews"} // By event.Kind.
	eventMembers = []string{
		"id", "occurredAt", "opaqueUserId", "resolvedBidId", "externalCampaignId", "externalVendorId", "entity", "deviceType",
		"channel", "clickType", "additionalAttribution", "placement", "page", "object", "items", "purchasedAt",
		"returnOf",
	}
	eventKnown = [event.Kinds]uint32{
		event.Impression: eventTouch,
		event.Click:      eventTouch | 1<<eventClickType,
		event.Purchase:   eventCommon | 1<<eventItems | 1<<eventPurchasedAt | 1<<eventReturnOf,
		event.Pageview:   eventCommon | 1<<eventPage,
	}
)

// Ranks of the rules of events are ordered by kind, then by event, then by row of the table, then by item. Each constant
// is the distance from one to the next.
const (
	rankKind  rank = 1 << 40
	rankEvent rank = 1 << 32 // Event 0 begins at 1 × rankEvent; the rules of the array itself are before it.
	rankRow   rank = 1 << 24 // Row 0 begins at 1 × rankRow; the rules of the event itself are before it.
	rankItem  rank = 1 << 8  // Item 0 begins at 1 × rankItem; the rules of the array items itself are before it.
)

// row returns the rank, within its event, of the rules of a member.
func row(member rank) rank { return (member + 1) * rankRow }

// paths are the paths of one kind's members. They are made once, so that a violation needs no allocation.
type paths struct{ array, event, id, time, user, token, campaign, vendor, entity, entityType, entityID, device, page, items string }

func pathsOf(array string) paths {
	e := array + "[#]"
	return paths{
		array: array, event: e, id: e + ".id", time: e + ".occurredAt", user: e + ".opaqueUserId", token: e + ".resolvedBidId",
		campaign: e + ".externalCampaignId", vendor: e + ".externalVendorId", entity: e + ".entity", entityType: e + ".entity.type",
		entityID: e + ".entity.id", device: e + ".deviceType", page: e + ".page", items: e + ".items",
	}
}

var eventPaths = [event.Kinds]paths{
	pathsOf("impressions"), pathsOf("clicks"), pathsOf("purchases"), pathsOf("pageviews"),
}

// ParseEvents parses b.Body, a POST /v2/events body, into b.Events and b.Items. It checks all rules of the interface that
// need neither key nor token; whether a resolvedBidId is authentic is for the caller to check. nowMillis is the node's
// clock, in milliseconds since 1970. It returns OK, or the code of the first violation in the interface's order and fills
// f; then b.Events may be used only with f.Follows. It allocates nothing once the slices of b have grown to the size of
// the traffic.
func ParseEvents(b *event.Batch, nowMillis int64, f *Fault) apierr.Code {
	s := eventScanner{batch: b, latest: nowMillis + event.FutureMillisMax}
	s.begin(b.Body, b.Arena, 0)
	b.Events, b.Items = b.Events[:0], b.Items[:0]
	if s.peek() == 0 && s.pos == len(s.src) {
		*f = Fault{code: apierr.EmptyRequest, byte: -1, path: "the body", rule: "is empty"}
		return f.code
	}
	s.body()
	s.finish()
	b.Arena = s.arena
	return s.result(f)
}

// eventScanner is the scanner of one batch of events.
type eventScanner struct {
	scanner
	batch  *event.Batch
	latest int64      // The latest time that an event may have, in milliseconds since 1970.
	kind   event.Kind // The kind of the array that is being read.
	path   *paths     // The paths of that kind.
	signs  quantitySigns
}

func (s *eventScanner) body() {
	from := s.pos
	if s.peek() != '{' {
		s.skip()
		s.violateAt(rankBody, apierr.BadRequest, "the body", "must be an object", from, s.pos)
		return
	}
	sorted, latest := true, 0
	o := s.object(arrayMembers, "the body")
	o.variant = apierr.InvalidEventType
	for m := s.member(&o); m != end; m = s.member(&o) {
		sorted = sorted && m >= latest
		latest = m
		s.kind, s.path = event.Kind(m), &eventPaths[m]
		s.events()
	}
	switch {
	case !o.started:
		s.violateAt(rankBody, apierr.EmptyRequest, "the body", "has no events", missing, 0)
	case o.seen == 0:
		s.violateAt(rankBody, apierr.InvalidEventType, "the body",
			"must have impressions, clicks, purchases or pageviews", missing, 0)
	}
	if !sorted {
		slices.SortStableFunc(s.batch.Events, func(a, b event.Event) int { return cmp.Compare(a.Kind, b.Kind) })
	}
}

// events reads the array of one kind.
func (s *eventScanner) events() {
	from := s.pos
	s.base = rankKind * rank(s.kind+1)
	if s.peek() != '[' {
		if s.other() == wrong {
			s.violate(0, apierr.BadRequest, s.path.array, "must be an array", from)
		}
		return
	}
	s.array()
	count := 0
	for ; s.element(count); count++ {
		if count >= event.PerArrayMax {
			s.skip()
			continue
		}
		s.at[0] = int32(count) // Below PerArrayMax.
		s.base += rankEvent
		s.event(count)
	}
	if count > event.PerArrayMax {
		s.base = rankKind * rank(s.kind+1)
		s.violate(0, apierr.BadRequest, s.path.array, "must hold at most 50 events", missing)
	}
}

// event reads one event. It starts from a new value, so that nothing of an earlier request can remain in a pooled one.
func (s *eventScanner) event(index int) {
	from := s.pos
	if s.peek() != '{' {
		s.skip()
		s.violate(0, apierr.BadRequest, s.path.event, "must be an object", from)
		return
	}
	s.batch.Events = append(s.batch.Events, event.Event{Kind: s.kind, Index: index, FirstItem: len(s.batch.Items)})
	e := &s.batch.Events[len(s.batch.Events)-1]
	var had eventHad
	s.signs = quantitySigns{}
	o := s.object(eventMembers, s.path.event)
	o.mask = eventKnown[s.kind]
	for m := s.member(&o); m != end; m = s.member(&o) {
		switch m {
		case eventID:
			e.ID = s.required(eventID, eventIDMax, apierr.BadRequest, s.path.id, "must be a string of 1 to 256 characters")
			had.id = true
		case eventOccurredAt:
			if millis, there := s.time(s.path.time); there {
				e.OccurredMillis, had.occurred = millis, true
			}
		case eventPurchasedAt:
			if millis, there := s.time("purchases[#].purchasedAt"); there && !had.occurred {
				e.OccurredMillis, had.purchased = millis, true // The alias counts only where occurredAt is absent.
			}
		case eventUserID:
			e.UserID = s.required(eventUserID, userIDMax, apierr.InvalidOpaqueUserID, s.path.user, "must be a string of 1 to 90 characters")
			had.user = true
		case eventResolvedBidID:
			e.ResolvedBidID = s.optional(eventResolvedBidID, resolvedBidIDMax, apierr.InvalidResolvedBidID, s.path.token,
				"must be a string of at most 512 characters")
		case eventExternalCampaign:
			e.ExternalCampaign = s.optional(eventExternalCampaign, idMax, apierr.BadRequest, s.path.campaign,
				"must be a string of at most 255 characters")
		case eventExternalVendor:
			e.ExternalVendor = s.optional(eventExternalVendor, idMax, apierr.BadRequest, s.path.vendor,
				"must be a string of at most 255 characters")
		case eventEntity:
			s.scope = scopeUnresolved
			s.entityValue(e)
			s.scope = scopeMain
		case eventDevice:
			s.deviceType(e)
		case eventChannel:
			e.Channel = s.tolerated(labelMax)
		case eventClickType:
			e.ClickType = s.tolerated(labelMax)
		case eventItems:
			s.purchaseItems(e)
		case eventReturnOf:
			e.ReturnOf = s.optional(eventReturnOf, eventIDMax, apierr.BadRequest, "purchases[#].returnOf",
				"must be a string of at most 256 characters")
		case eventPage:
			s.pageValue(e)
			had.page = true
		default:
			s.skip() // The remaining members are informational and not kept.
		}
	}
	s.concludeEvent(e, &had)
}

// eventHad records which of the required members are present. A member that is present with an invalid value counts too.
type eventHad struct {
	id, occurred, purchased, user, page bool
}

// concludeEvent applies the rules on absent members and the rules that depend on several members.
func (s *eventScanner) concludeEvent(e *event.Event, had *eventHad) {
	if !had.id {
		s.violate(row(eventID), apierr.BadRequest, s.path.id, "is required: a string of 1 to 256 characters", missing)
	}
	if !had.occurred && !had.purchased {
		code := apierr.InvalidEventTime
		if s.kind == event.Purchase {
			code = apierr.MissingPurchasedAt
		}
		s.violate(row(eventOccurredAt), code, s.path.time, "is required: an ISO 8601 date-time", missing)
	}
	if !had.user {
		s.violate(row(eventUserID), apierr.InvalidOpaqueUserID, s.path.user, "is required: 1 to 90 characters", missing)
	}
	if len(e.ResolvedBidID) > 0 {
		s.discard(scopeUnresolved)
		e.EntityType, e.EntityID = event.NoEntity, nil
		if len(e.ExternalCampaign) > 0 {
			s.violate(row(eventExternalCampaign), apierr.InvalidUseOfExternalCampaignID, s.path.campaign,
				"must not stand beside resolvedBidId", missing)
		}
	} else {
		s.commit(scopeUnresolved)
	}
	if s.kind == event.Purchase {
		s.concludePurchase(e)
	}
	if s.kind == event.Pageview && !had.page {
		s.violate(row(eventPage), apierr.BadRequest, s.path.page, "is required: an object with type", missing)
	}
}
