package sinks

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/gavel-ads/gavel/node/export"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
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
	Return     Type = "return"     // What came back of such an item.
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
	Type          Type   `json:"type" doc:"charge, reversal, conversion or return."`
	MarketplaceID string `json:"marketplace_id" doc:"Marketplace of the campaign."`
}

// LineMessage is the body of a charge.
type LineMessage struct {
	Head
	export.JournalRow
}

// ReversalMessage is the body of a reversal.
type ReversalMessage struct {
	LineMessage
	ReversalDetails
}

// ReversalDetails say what a reversal belongs to.
type ReversalDetails struct {
	ChargeLine int64  `json:"charge_line" doc:"Line of the charge that is given back, in the same group; 0 when it is an amount of several charges."`
	Reason     string `json:"reason" doc:"invalid_traffic, product_return, billing_error, goodwill."`
}

// reasons names the reasons of reversals as the management API does.
var reasons = [command.Reasons]string{
	command.ReasonInvalidTraffic: "invalid_traffic", command.ReasonProductReturn: "product_return",
	command.ReasonBillingError: "billing_error", command.ReasonGoodwill: "goodwill",
}

// ConversionMessage is the body of a conversion, or of a return.
type ConversionMessage struct {
	Head
	export.ConversionRow
}

// ReturnMessage is the body of a return.
type ReturnMessage struct {
	ConversionMessage
	ReturnDetails
}

// ReturnDetails say what a return belongs to.
type ReturnDetails struct {
	ConversionID string `json:"conversion_id" doc:"Id of the conversion that the pieces belonged to."`
}

// chainLen is how many bytes of a line's chain are part of its id. BOUND: after a restore a line may have the number of one that was sent
// before, and 64 bits of the hash over all lines tell the two apart.
const chainLen = 8

// ofLine is the message of a line.
func ofLine(g ids.Group, l *store.SinkLine) Message {
	m := LineMessage{JournalRow: export.RowOfLine(g, &l.ExportedLine)}
	m.Head = Head{SchemaVersion, fmt.Sprintf("%d-%d-%x", g, l.Seq, l.Chain[:chainLen]), Charge, l.Marketplace.String()}
	if isCharge(l.Kind) {
		return message(&m.Head, m.CampaignID, m)
	}
	m.Type = Reversal
	details := ReversalDetails{int64(l.Reversal.Line), reasons[l.Reversal.Reason]} // Numbers of lines fit.
	return message(&m.Head, m.CampaignID, ReversalMessage{m, details})
}

func isCharge(k ledger.LineKind) bool {
	return k == ledger.ClickCharge || k == ledger.ImpressionCharge || k == ledger.PurchaseCharge
}

// ofCredit is the message of a credited item. It does not say what came back, so that all repeats are equal.
func ofCredit(g ids.Group, c *store.SinkCredit) Message {
	m := conversion(g, c)
	m.Returned, m.ReturnedAmount = 0, 0
	return message(&m.Head, m.CampaignID, m)
}

// ofReturn is the message of what came back of a credited item, in all returns so far.
func ofReturn(g ids.Group, c *store.SinkCredit) Message {
	m := ReturnMessage{conversion(g, c), ReturnDetails{}}
	m.ConversionID = m.ID
	m.ID, m.Type = fmt.Sprintf("%s-returned-%d", m.ID, c.Returned), Return
	return message(&m.Head, m.CampaignID, m)
}

func conversion(g ids.Group, c *store.SinkCredit) ConversionMessage {
	m := ConversionMessage{ConversionRow: export.RowOfCredit(g, &c.ExportedCredit)}
	id := fmt.Sprintf("%d-%s-%d-%d", g, hex.EncodeToString(c.Purchase.Key[:]), c.Purchase.OpenedMillis, c.Item)
	m.Head = Head{SchemaVersion, id, Conversion, c.Marketplace.String()}
	return m
}

func message(h *Head, campaign string, body any) Message {
	text, err := json.Marshal(body)
	if err != nil {
		panic("sinks: a message cannot be encoded as JSON: " + err.Error()) // It has texts, numbers and truth values only.
	}
	return Message{ID: h.ID, Type: h.Type, Marketplace: h.MarketplaceID, Campaign: campaign, Body: text}
}
