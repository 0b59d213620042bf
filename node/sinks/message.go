package sinks

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/gavel-ads/gavel/node/export"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
)

// SchemaVersion is the version of the messages. A member may be added without a new version; a member that is removed, or means
// something else, needs one.
const SchemaVersion = 1

// Type says what a message is about.
type Type string

// The types of messages.
const (
	Charge     Type = "charge"     // A charge decision of the journal.
	Reversal   Type = "reversal"   // A line of the journal that gives a charge back.
	Conversion Type = "conversion" // An item of a purchase that was credited to an ad.
)

// Message is what a broker stores.
type Message struct {
	// ID is the same whenever the same thing is sent again, and no other message ever has it.
	ID          string
	Type        Type
	Marketplace string // Its id.
	Campaign    string // Its id: messages of a campaign belong together.
	Body        []byte // JSON, as SCHEMA.md describes it.
}

// Head is what every message begins with.
type Head struct {
	Schema        int32  `json:"schema" doc:"Version of the schema."`
	ID            string `json:"id" doc:"The same whenever the same thing is sent again; no other message ever has it."`
	Type          Type   `json:"type" doc:"charge, reversal or conversion."`
	MarketplaceID string `json:"marketplace_id" doc:"Marketplace of the campaign."`
}

// LineMessage is the body of a charge or reversal.
type LineMessage struct {
	Head
	export.JournalRow
}

// ConversionMessage is the body of a conversion.
type ConversionMessage struct {
	Head
	export.ConversionRow
}

// chainLen is how many bytes of a line's chain are part of its id. BOUND: after a restore a line may have the number of one that was sent
// before, and 64 bits of the hash over all lines tell the two apart.
const chainLen = 8

// ofLine is the message of a line.
func ofLine(g ids.Group, l *store.SinkLine) Message {
	m := LineMessage{JournalRow: export.RowOfLine(g, &l.ExportedLine)}
	m.Head = Head{SchemaVersion, fmt.Sprintf("%d-%d-%x", g, l.Seq, l.Chain[:chainLen]), Charge, l.Marketplace.String()}
	if !isCharge(l.Kind) {
		m.Type = Reversal
	}
	return message(&m.Head, m.CampaignID, m)
}

func isCharge(k ledger.LineKind) bool {
	return k == ledger.ClickCharge || k == ledger.ImpressionCharge || k == ledger.PurchaseCharge
}

// ofCredit is the message of a credited item.
func ofCredit(g ids.Group, c *store.SinkCredit) Message {
	m := ConversionMessage{ConversionRow: export.RowOfCredit(g, &c.ExportedCredit)}
	id := fmt.Sprintf("%d-%s-%d-%d", g, hex.EncodeToString(c.Purchase.Key[:]), c.Purchase.OpenedMillis, c.Item)
	m.Head = Head{SchemaVersion, id, Conversion, c.Marketplace.String()}
	return message(&m.Head, m.CampaignID, m)
}

func message(h *Head, campaign string, body any) Message {
	text, err := json.Marshal(body)
	if err != nil {
		panic("sinks: a message cannot be encoded as JSON: " + err.Error()) // It has texts, numbers and truth values only.
	}
	return Message{ID: h.ID, Type: h.Type, Marketplace: h.MarketplaceID, Campaign: campaign, Body: text}
}
