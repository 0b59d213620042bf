package campaign

import "github.com/gavel-ads/gavel/shard/market"

// restriction caps how often one user meets a campaign, as it is stored.
type restriction struct {
	ID            string `json:"id"`
	Type          uint8  `json:"type"`
	Limit         uint32 `json:"limit"`
	Inactive      bool   `json:"inactive,omitempty"`
	CreatedMillis int64  `json:"createdMillis"`
	UpdatedMillis int64  `json:"updatedMillis"`
}

// caps are the restrictions of a document that are in force.
func (d *document) caps() (caps []market.Cap) {
	for _, r := range d.Restrictions {
		if !r.Inactive {
			caps = append(caps, market.Cap{Type: r.Type, Limit: r.Limit})
		}
	}
	return caps
}
