package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
)

// AssetStatus is how far an asset got.
type AssetStatus string

// The states, as the interface names them.
const (
	AssetPendingUpload   AssetStatus = "pending_upload"
	AssetUploadError     AssetStatus = "upload_error"
	AssetPendingApproval AssetStatus = "pending_approval"
	AssetApproved        AssetStatus = "approved"
	AssetRejected        AssetStatus = "rejected"
)

// UploadWait is how long an asset waits for its file before the upload counts as failed. BOUND: of the interface.
const UploadWait = 24 * time.Hour

// Asset is a picture, video or text that ads show: a file of ours, or an address elsewhere.
//
// INVARIANT: the file of an asset does not change after its upload succeeded. Every form leads to an object of its own
// (Object), and the record takes a file only from the form that it names, so a late upload with an old form reaches nothing.
type Asset struct {
	ID          ids.UUID
	VendorID    string
	Name        string
	ProductIDs  []string
	Brands      []string
	MimeType    string // Empty until a file shows what it is.
	Metadata    map[string]string
	ExternalURL string // Empty for a file of ours.
	Status      AssetStatus
	Reason      string // Of a rejection or a failed upload.

	Address  string // Hosted: the last part of the public address.
	Forms    int    // How many upload forms were made.
	Nonce    string // Of the form that may be used; empty when none may.
	UploadBy int64  // When waiting for a file ends.
	Size     int64
	Hash     string // SHA-256 of the file, hexadecimal.

	CreatedMillis int64
	UpdatedMillis int64
}

// Place is the asset's position in lists.
func (x *Asset) Place() string { return placeOf(x.CreatedMillis, x.ID) }

// Object is the name of the file in the blob store: of the newest form, and after an upload of the file.
func (x *Asset) Object() string { return fmt.Sprintf("%s-%d", x.Address, x.Forms) }

// URL is the public address, below a base for files of ours.
func (x *Asset) URL(base string) string { return cmp.Or(x.ExternalURL, base+AssetPath+x.Address) }

// AssetPath is where files are served.
const AssetPath = "/assets/"

// newForm makes the signed permission to upload a file once.
func (x *Asset) newForm(now int64) {
	x.Forms++
	x.Nonce, x.UploadBy = rand.Text(), now+UploadWait.Milliseconds()
	x.Status, x.Reason = AssetPendingUpload, ""
}

var assets = shelf[Asset]{command.RecordAsset, command.RecordAssetIndex, func(x *Asset) label {
	if x.Address == "" {
		return label{x.ID, x.CreatedMillis, "external " + x.ID.String()}
	}
	return label{x.ID, x.CreatedMillis, x.Address}
}}

func (t Tenant) uploadDue(x *Asset) command.Record {
	return t.dueRecord(Due{x.UploadBy, DueUpload, x.ID})
}

// CreateAsset stores a new asset and fills in its id, times and state. address is the public name of a hosted one.
func (t Tenant) CreateAsset(ctx context.Context, x *Asset, address string) error {
	x.ID, x.CreatedMillis = t.mint(ctx, 0), t.now()
	x.UpdatedMillis = x.CreatedMillis
	var more []command.Record
	if x.ExternalURL == "" {
		x.Address = address
		x.newForm(x.CreatedMillis)
		more = append(more, t.uploadDue(x))
	} else {
		x.Status = AssetPendingApproval
		t.approveByItself(x)
	}
	stored, err := assets.add(ctx, t, []Asset{*x}, more...)
	if err != nil {
		return err
	}
	*x = stored[0]
	return nil
}

// approveByItself passes an asset through its review where the marketplace wants none.
func (t Tenant) approveByItself(x *Asset) {
	if x.Status == AssetPendingApproval && t.Settings().ApproveAssets {
		x.Status = AssetApproved
	}
}

// Asset returns an asset, or ErrNotFound.
func (t Tenant) Asset(_ context.Context, id ids.UUID) (Asset, error) {
	at, err := assets.find(t, keyOfID(id))
	return at.thing, err
}

// AssetAt returns the hosted asset with a public name, or ErrNotFound.
func (t Tenant) AssetAt(_ context.Context, address string) (Asset, error) {
	at, err := assets.find(t, keyOfName(address))
	return at.thing, err
}

// Assets lists the assets that a filter keeps, newest first.
func (t Tenant) Assets(_ context.Context, p Page, keep func(*Asset) bool) ([]Asset, bool, error) {
	return assets.list(t, p, keep)
}

// ChangeAsset rewrites what an asset says of itself. Its state stays.
func (t Tenant) ChangeAsset(ctx context.Context, id ids.UUID, fn func(*Asset)) (Asset, error) {
	return assets.change(ctx, t, keyOfID(id), func(x *Asset) {
		fn(x)
		x.UpdatedMillis = t.now()
	})
}

// moveAsset takes an asset from one of the given states to another, or answers ErrWrongState.
func (t Tenant) moveAsset(ctx context.Context, id ids.UUID, from []AssetStatus, fn func(*Asset) []command.Record) (Asset, error) {
	return assets.alter(ctx, t, keyOfID(id), func(x *Asset) ([]command.Record, error) {
		before := x.Status
		if !slices.Contains(from, before) {
			return nil, ErrWrongState
		}
		more := fn(x)
		x.UpdatedMillis = t.now()
		return append(more, t.assetNotice(x, before)...), nil
	})
}

// assetNotice tells of a change of state.
func (t Tenant) assetNotice(x *Asset, before AssetStatus) []command.Record {
	if x.Status == before {
		return nil
	}
	return t.notices(ChannelAsset, struct {
		AssetID  string      `json:"asset_id"`
		VendorID string      `json:"vendor_id"`
		Status   AssetStatus `json:"status"`
		Reason   string      `json:"reason,omitempty"`
	}{x.ID.String(), x.VendorID, x.Status, x.Reason})
}

// ReviewAsset approves or rejects an asset. A decision can be changed, but not repeated.
func (t Tenant) ReviewAsset(ctx context.Context, id ids.UUID, status AssetStatus, reason string) (Asset, error) {
	from := []AssetStatus{AssetPendingApproval, AssetApproved}
	if status == AssetApproved {
		from[1] = AssetRejected
	}
	return t.moveAsset(ctx, id, from, func(x *Asset) []command.Record {
		x.Status, x.Reason = status, reason
		return nil
	})
}

// NewUpload makes a new form for an asset whose file did not come. Older forms stop working.
func (t Tenant) NewUpload(ctx context.Context, id ids.UUID) (Asset, error) {
	return t.moveAsset(ctx, id, []AssetStatus{AssetPendingUpload, AssetUploadError}, func(x *Asset) []command.Record {
		if x.ExternalURL != "" {
			panic("store: an external asset never waits for a file")
		}
		x.newForm(t.now())
		return []command.Record{t.uploadDue(x)}
	})
}

// BeginUpload spends the nonce of a form: of two uploads with one form, at most one passes. ErrWrongState for a form that
// was used, replaced or is not wanted any more.
func (t Tenant) BeginUpload(ctx context.Context, id ids.UUID, object, nonce string) (Asset, error) {
	return assets.alter(ctx, t, keyOfID(id), func(x *Asset) ([]command.Record, error) {
		if x.Status != AssetPendingUpload || x.Nonce == "" || x.Nonce != nonce || x.Object() != object {
			return nil, ErrWrongState
		}
		x.Nonce = ""
		return nil, nil
	})
}

// Uploaded is what a finished upload brought.
type Uploaded struct {
	Object   string
	MimeType string
	Size     int64
	Hash     string
}

// FinishUpload gives an asset its file. ErrWrongState when another form was made meanwhile; then nothing refers to the file.
func (t Tenant) FinishUpload(ctx context.Context, id ids.UUID, u Uploaded) (Asset, error) {
	return t.endUpload(ctx, id, u.Object, func(x *Asset) {
		x.Status, x.MimeType, x.Size, x.Hash = AssetPendingApproval, u.MimeType, u.Size, u.Hash
		t.approveByItself(x)
	})
}

// FailUpload notes that the file of a form was refused or did not come whole.
func (t Tenant) FailUpload(ctx context.Context, id ids.UUID, object, reason string) (Asset, error) {
	return t.endUpload(ctx, id, object, func(x *Asset) { x.Status, x.Reason = AssetUploadError, reason })
}

func (t Tenant) endUpload(ctx context.Context, id ids.UUID, object string, fn func(*Asset)) (Asset, error) {
	return assets.alter(ctx, t, keyOfID(id), func(x *Asset) ([]command.Record, error) {
		if x.Status != AssetPendingUpload || x.Nonce != "" || x.Object() != object {
			return nil, ErrWrongState
		}
		fn(x)
		x.UpdatedMillis = t.now()
		return append(t.assetNotice(x, AssetPendingUpload), t.doneRecord(Due{x.UploadBy, DueUpload, x.ID})), nil
	})
}

// ExpireUpload follows a DueUpload: an asset that still waits for its file waits no longer.
func (t Tenant) ExpireUpload(ctx context.Context, d Due) error {
	_, err := t.moveAsset(ctx, d.ID, []AssetStatus{AssetPendingUpload}, func(x *Asset) []command.Record {
		if x.UploadBy <= t.now() {
			x.Status, x.Reason, x.Nonce = AssetUploadError, "no file came within 24 hours", ""
		}
		return []command.Record{t.doneRecord(d)}
	})
	return err
}

// DeleteAsset deletes an asset that nothing shows, and returns it, so that its file can go. ErrWrongState when it is in use.
func (t Tenant) DeleteAsset(ctx context.Context, id ids.UUID, url string) (gone Asset, err error) {
	used, err := t.addressInUse(url)
	if err == nil && !used {
		used, err = t.bidInUse(ctx, id, url)
	}
	if err != nil {
		return Asset{}, err
	}
	err = assets.removeIf(ctx, t, id, func(x *Asset) error {
		gone = *x
		if used {
			return ErrWrongState
		}
		return nil
	})
	return gone, err
}

// addressInUse reports whether a slot's fallback shows what is at an address.
func (t Tenant) addressInUse(url string) (bool, error) {
	all, _, err := slots.list(t, Page{Limit: 1}, func(s *Slot) bool {
		return slices.ContainsFunc(s.Fallback, func(f Fallback) bool { return f.URL == url })
	})
	return len(all) > 0, err
}

// bidInUse reports whether a bid of the asset's vendor shows it, in a campaign that is not terminated.
func (t Tenant) bidInUse(ctx context.Context, id ids.UUID, url string) (bool, error) {
	x, err := t.Asset(ctx, id)
	if err != nil {
		return false, err
	}
	shows := func(b *market.Bid) bool {
		return b.Creative != nil && slices.ContainsFunc(b.Creative.Assets, func(a market.BannerAsset) bool {
			return a.AssetID == id.String() || a.URL == url
		})
	}
	return read(t, t.groupOf(x.VendorID), func(b shard.Books) bool {
		for offset, more := 0, true; more; offset += campaignStep {
			var campaigns []CampaignState
			campaigns, more = b.Campaigns(t.marketplace, &shard.CampaignFilter{VendorID: x.VendorID}, offset, campaignStep)
			for i := range campaigns {
				for at, rest := 0, true; rest; at += campaignStep {
					var bids []market.Bid
					bids, rest = b.Bids(campaigns[i].Ordinal, at, campaignStep)
					if slices.ContainsFunc(bids, func(bid market.Bid) bool { return shows(&bid) }) {
						return true
					}
				}
			}
		}
		return false
	})
}

// UsesFile reports whether a record refers to a file of the blob store.
func (t Tenant) UsesFile(_ context.Context, object string) (bool, error) {
	address := beforeLastDash(object)
	return read(t, t.store.Groups.Meta(), func(b shard.Books) bool {
		at, found := assets.look(b, t, keyOfName(address))
		return found && at.thing.Object() == object
	})
}

// beforeLastDash is what an object is named after; what follows the dash tells it from others of the same thing.
func beforeLastDash(object string) string {
	if end := strings.LastIndexByte(object, '-'); end >= 0 {
		return object[:end]
	}
	return object
}
