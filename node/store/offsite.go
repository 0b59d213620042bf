package store

import (
	"context"
	"strings"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// OffsiteCampaign is a campaign on an ad network.
type OffsiteCampaign struct {
	ID            ids.UUID
	VendorID      string
	Network       string
	Name          string
	ExternalID    string // The network's id of the campaign; unique within the network.
	CreatedMillis int64
	UpdatedMillis int64
}

var offsiteCampaigns = collection[OffsiteCampaign]{itemKind: command.RecordOffsiteCampaign, indexKind: command.RecordOffsiteCampaignIndex, key: func(x *OffsiteCampaign) itemKey {
	return itemKey{x.ID, x.CreatedMillis, x.Network + "\n" + x.ExternalID}
}}

// CreateOffsiteCampaign stores a new campaign, and, unless job is nil, the job that reports it to its network. ErrAlreadyExists
// when the external id is taken.
func (t Tenant) CreateOffsiteCampaign(ctx context.Context, x *OffsiteCampaign, job *Job) error {
	x.ID, x.CreatedMillis = t.mint(ctx, 0), t.now()
	x.UpdatedMillis = x.CreatedMillis
	var more []command.Record
	if job != nil {
		job.Campaign, job.VendorID, job.Networks = x.ID, x.VendorID, []string{x.Network}
		more = t.newJob(ctx, job, t.now())
	}
	stored, err := offsiteCampaigns.add(ctx, t, []OffsiteCampaign{*x}, more...)
	if err != nil {
		return err
	}
	*x = stored[0]
	return nil
}

// OffsiteCampaign returns a campaign, or ErrNotFound.
func (t Tenant) OffsiteCampaign(_ context.Context, id ids.UUID) (OffsiteCampaign, error) {
	at, err := offsiteCampaigns.find(t, keyOfID(id))
	return at.item, err
}

// OffsiteRow is a network's report of one product on one day.
type OffsiteRow struct {
	Date             string // YYYY-MM-DD
	ProductID        string
	Impressions      int64
	Clicks           int64
	Spent            int64 // Ten-thousandths of a minor unit.
	Purchases        int64
	PurchaseAmount   int64 // Minor units.
	PurchaseQuantity int64
}

// OffsiteProductMax is the longest product id in a report, in bytes. BOUND: it is a part of the record's id, beside the campaign
// and the date.
const OffsiteProductMax = command.RecordIDMax - uuidLen - len(dateMark) - dateLen

const (
	uuidLen  = 36
	dateLen  = 10
	dateMark = "\x00" // It sorts before every byte of an id, so that the rows of one product are adjacent.
)

// PutOffsiteRows stores rows, all or nothing. A row replaces the row of the same product and day.
func (t Tenant) PutOffsiteRows(ctx context.Context, campaign ids.UUID, rows []OffsiteRow) error {
	records := make([]command.Record, len(rows))
	for i := range rows {
		r := &rows[i]
		records[i] = command.Record{
			Kind: command.RecordOffsiteReport, Marketplace: t.marketplace, ID: campaign.String() + r.ProductID + dateMark + r.Date,
			Value: encoded(r), Expect: command.Any,
		}
	}
	return t.putRecords(ctx, records)
}

// OffsiteProducts sums the rows of a campaign over days, by product id. The date is the end of a row's id, so the rows of a product
// are adjacent, and a page reads the rows of its own products only.
func (t Tenant) OffsiteProducts(_ context.Context, campaign ids.UUID, d Dates, p Page) ([]OffsiteRow, bool, error) {
	prefix := campaign.String()
	got, err := read(t, t.store.Groups.Meta(), func(b shard.Queries) (out page[OffsiteRow]) {
		after := prefix
		if p.After != "" {
			after = prefix + p.After + "\x01" // It sorts after every date of the product.
		}
		for more := true; more; {
			var records []shard.StoredRecord
			records, more = b.Records(command.RecordOffsiteReport, t.marketplace, after, scanStep)
			for i := range records {
				after = records[i].ID
				if !strings.HasPrefix(after, prefix) {
					return out
				}
				row := decoded[OffsiteRow](records[i].Value)
				if row.Date < d.From || row.Date > d.To {
					continue
				}
				n := len(out.items)
				if n > 0 && out.items[n-1].ProductID == row.ProductID {
					out.items[n-1].add(&row)
					continue
				}
				if out.more = n == p.Limit; out.more {
					return out
				}
				out.items = append(out.items, row)
			}
		}
		return out
	})
	return got.items, got.more, err
}

func (r *OffsiteRow) add(x *OffsiteRow) {
	r.Impressions = addUp(r.Impressions, x.Impressions)
	r.Clicks = addUp(r.Clicks, x.Clicks)
	r.Spent = addUp(r.Spent, x.Spent)
	r.Purchases = addUp(r.Purchases, x.Purchases)
	r.PurchaseAmount = addUp(r.PurchaseAmount, x.PurchaseAmount)
	r.PurchaseQuantity = addUp(r.PurchaseQuantity, x.PurchaseQuantity)
}
