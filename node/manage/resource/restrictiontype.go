package resource

// RestrictionType says which interaction a restriction counts, in which period, and at which level.
type RestrictionType struct {
	ID              int    `json:"id" minimum:"1" maximum:"18"`
	InteractionType string `json:"interactionType" enum:"impressions,clicks,conversions"`
	FrequencyType   string `json:"frequencyType" enum:"daily,weekly,monthly"`
	Level           string `json:"level" enum:"campaign,bid"`
}

// RestrictionTypes is the table of all types in the order of the ids: by level, then interaction, then frequency. The ids are
// part of the interface, and the engine uses them as well.
var RestrictionTypes = func() (all []RestrictionType) {
	for _, level := range []string{"campaign", "bid"} {
		for _, interaction := range []string{"impressions", "clicks", "conversions"} {
			for _, frequency := range []string{"daily", "weekly", "monthly"} {
				all = append(all, RestrictionType{len(all) + 1, interaction, frequency, level})
			}
		}
	}
	return all
}()
