package sinkstest

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ledger"
)

// Received is a message as a consumer got it.
type Received struct {
	ID   string // From the header.
	Body []byte
}

// fact is what a consumer has to learn from a message.
type fact struct {
	Schema      int    `json:"schema"`
	ID          string `json:"id"`
	Type        string `json:"type"`
	Marketplace string `json:"marketplace_id"`
	Group       int    `json:"group"`
	Campaign    string `json:"campaign_id"`
	Kind        string `json:"kind"`
	Line        uint64 `json:"line"`
	CommittedAt int64  `json:"committed_at"`
	Reference   string `json:"reference"`
	Requested   int64  `json:"requested_micros"`
	Amount      int64  `json:"amount_micros"`
	PurchaseID  string `json:"purchase_id"`
	Item        int    `json:"item"`
	OpenedAt    int64  `json:"opened_at"`
	Quantity    int64  `json:"quantity"`
	Charged     int64  `json:"charged_micros"`

	ChargeLine     uint64 `json:"charge_line"`
	Reason         string `json:"reason"`
	ConversionID   string `json:"conversion_id"`
	Returned       int64  `json:"returned_quantity"`
	ReturnedAmount int64  `json:"returned_amount_micros"`
}

// names of the kinds of lines that are sent, and the types of their messages.
var kinds = map[ledger.LineKind][2]string{
	ledger.ClickCharge: {"click_charge", "charge"}, ledger.ImpressionCharge: {"impression_charge", "charge"},
	ledger.PurchaseCharge: {"purchase_charge", "charge"}, ledger.ClickReversal: {"click_reversal", "reversal"},
	ledger.ImpressionReversal: {"impression_reversal", "reversal"}, ledger.PurchaseReversal: {"purchase_reversal", "reversal"},
}

// Compare checks that a consumer that drops messages with an id that it knows has exactly the charges, reversals, credited items and
// returns of the shop, and that messages with the same id are equal. It returns how many there are of each type, and how many repeats.
func (w *Shop) Compare(got []Received) (types map[string]int, repeats int) {
	w.t.Helper()
	byID := map[string][]byte{}
	received := map[fact]bool{}
	types = map[string]int{}
	for _, r := range got {
		if known, repeat := byID[r.ID]; repeat {
			if repeats++; !bytes.Equal(known, r.Body) {
				w.t.Errorf("two messages have the id %s:\n%s\n%s", r.ID, known, r.Body)
			}
			continue
		}
		byID[r.ID] = r.Body
		var f fact
		if err := json.Unmarshal(r.Body, &f); err != nil {
			w.t.Fatalf("%s: %v", r.Body, err)
		}
		if f.ID != r.ID {
			w.t.Errorf("the header has the id %s, the body %s", r.ID, f.ID)
		}
		types[f.Type]++
		f.ID = ""
		received[f] = true
	}
	want := w.facts()
	for f := range want {
		if !received[f] {
			w.t.Errorf("never received: %+v", f)
		}
	}
	earlier := 0
	for f := range received {
		switch {
		case want[f]:
		case f.Type == "return" && isEarlier(f, want):
			earlier++
		default:
			w.t.Errorf("received, and nothing of the kind was recorded: %+v", f)
		}
	}
	if len(byID) != len(want)+earlier {
		w.t.Errorf("%d ids were received, %d charges, reversals, items and returns are recorded", len(byID), len(want)+earlier)
	}
	return types, repeats
}

// isEarlier reports whether fewer pieces had come back of an item than now: 0 is no return.
func isEarlier(f fact, want map[fact]bool) bool {
	unit := f.Amount / f.Quantity
	pieces := f.Returned
	for f.Returned++; f.Returned <= f.Quantity; f.Returned++ {
		f.ReturnedAmount = f.Returned * unit
		if want[f] {
			return pieces > 0
		}
	}
	return false
}

// facts reads what has to be received from the state of the groups, without the code of the sinks.
func (w *Shop) facts() map[fact]bool {
	all := map[fact]bool{}
	marketplace := w.tenant.Settings().ID.String()
	for _, g := range w.Data() {
		w.read(g, func(q shard.Queries) {
			q.Journal(1, func(l *ledger.Line) bool {
				if kind, sent := kinds[l.Kind]; sent {
					c, _ := q.CampaignByOrdinal(l.Campaign)
					f := fact{
						Schema: 1, Type: kind[1], Marketplace: marketplace, Group: int(g), Campaign: c.ID.String(), Kind: kind[0], Line: l.Seq,
						CommittedAt: l.Millis, Reference: hex.EncodeToString(l.Key[:]), Requested: int64(l.Price), Amount: int64(l.Amount),
					}
					if kind[1] == "reversal" {
						r, _ := q.Reversal(l.Key)
						f.ChargeLine, f.Reason = r.Line, "invalid_traffic" // The reason of every reversal of the shop.
					}
					all[f] = true
				}
				return true
			})
			for day := managetest.Start.Unix() / 86_400; day <= w.Now().Unix()/86_400; day++ {
				q.CreditsOfDay(uint32(day), nil, func(s *shard.StoredCredit) bool {
					c, _ := q.CampaignByOrdinal(s.Campaign)
					f := fact{
						Schema: 1, Type: "conversion", Marketplace: marketplace, Group: int(g), Campaign: c.ID.String(),
						PurchaseID: hex.EncodeToString(s.Purchase.Key[:]), Item: int(s.Item), OpenedAt: s.Purchase.OpenedMillis,
						Quantity: s.Quantity, Amount: s.Quantity * int64(s.UnitPrice), Charged: int64(s.Charged),
					}
					all[f] = true
					if s.Returned > 0 {
						f.Type, f.Returned, f.ReturnedAmount = "return", s.Returned, s.Returned*int64(s.UnitPrice)
						f.ConversionID = fmt.Sprintf("%d-%s-%d-%d", g, f.PurchaseID, f.OpenedAt, f.Item)
						all[f] = true
					}
					return true
				})
			}
		})
	}
	return all
}
