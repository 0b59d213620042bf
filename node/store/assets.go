package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
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

// CreateAsset stores a new asset and fills in its id, times and state. address is the public name of a hosted one.
func (t Tenant) CreateAsset(ctx context.Context, x *Asset, address string) error {
	x.ID, x.CreatedMillis = t.mint(ctx, 0), t.now()
	x.UpdatedMillis = x.CreatedMillis
	var more []command.Record
	if x.ExternalURL == "" {
		if err := t.admitFile(); err != nil {
			return err
		}
		x.Address = address
		x.newForm(x.CreatedMillis)
		more = append(more, t.uploadDue(x))
	} else {
		x.Status = AssetPendingApproval
		t.approveByItself(x)
	}
	stored, err := assets.addWithin(ctx, t, t.store.Limits.Assets, []Asset{*x}, more...)
	if err != nil {
		return limited(err, "assets", t.store.Limits.Assets)
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
