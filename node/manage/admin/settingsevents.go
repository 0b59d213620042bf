package admin

import (
	"fmt"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/shard/model"
)

// eventDaysLeast is the least retention of events that is not 0: an hour is exported up to two hours after it began, when the
// next day may have begun.
const eventDaysLeast = 2

// applyEventDays changes how long reported events are kept.
func (b *SettingsPatchBody) applyEventDays(m *model.Marketplace) error {
	if b.EventRetentionDays == nil {
		return nil
	}
	if days := *b.EventRetentionDays; days > 0 && days < eventDaysLeast {
		rule := fmt.Sprintf("must be 0, or at least %d", eventDaysLeast)
		return resource.Invalid(resource.At("value_error", rule, "body", "eventRetentionDays"))
	}
	m.EventDays = uint8(*b.EventRetentionDays) // At most model.EventDaysMax.
	return nil
}
