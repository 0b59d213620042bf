package wire

import stdjson "encoding/json"

// auctionsShape has the members that ParseAuctions reads, for a decoder that works by reflection.
type auctionsShape struct {
	Auctions []struct {
		Type     string `json:"type"`
		Slots    int    `json:"slots"`
		Products struct {
			IDs     []string         `json:"ids"`
			Quality []stdjson.Number `json:"qualityScores"`
		} `json:"products"`
		Category   stdjson.RawMessage `json:"category"`
		Search     string             `json:"searchQuery"`
		UserID     string             `json:"opaqueUserId"`
		Placement  uint8              `json:"placementId"`
		Device     string             `json:"device"`
		Variant    string             `json:"experimentVariant"`
		SlotID     string             `json:"slotId"`
		DemandFrom []struct {
			Source string `json:"source"`
		} `json:"demandSources"`
	} `json:"auctions"`
}

// eventShape has the members of one event, for such a decoder.
type eventShape struct {
	ID               string `json:"id"`
	OccurredAt       string `json:"occurredAt"`
	UserID           string `json:"opaqueUserId"`
	ResolvedBidID    string `json:"resolvedBidId"`
	ExternalCampaign string `json:"externalCampaignId"`
	ExternalVendor   string `json:"externalVendorId"`
	Items            []struct {
		ProductID string         `json:"productId"`
		Quantity  *int64         `json:"quantity"`
		UnitPrice stdjson.Number `json:"unitPrice"`
	} `json:"items"`
}

// eventsShape has the members that ParseEvents reads.
type eventsShape struct {
	Impressions []eventShape `json:"impressions"`
	Clicks      []eventShape `json:"clicks"`
	Purchases   []eventShape `json:"purchases"`
	Pageviews   []eventShape `json:"pageviews"`
}

// resultsShape has the members that AppendResults writes.
type resultsShape struct {
	Results []struct {
		ResultType string `json:"resultType"`
		Winners    []struct {
			Rank          uint8  `json:"rank"`
			Type          string `json:"type"`
			ID            string `json:"id"`
			ResolvedBidID string `json:"resolvedBidId"`
			CampaignID    string `json:"campaignId,omitempty"`
			DemandSource  string `json:"demandSource,omitempty"`
		} `json:"winners"`
		Error *bool `json:"error"`
	} `json:"results"`
}
