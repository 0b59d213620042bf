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

// AssetStatus is the state of an asset's upload and review.
type AssetStatus string

// The states, as the interface names them.
const (
	AssetPendingUpload   AssetStatus = "pending_upload"
	AssetUploadError     AssetStatus = "upload_error"
	AssetPendingApproval AssetStatus = "pending_approval"
	AssetApproved        AssetStatus = "approved"
	AssetRejected        AssetStatus = "rejected"
)

// Asset is an image, video or text that ads show: a file that Gavel stores, or a URL elsewhere.
//
// INVARIANT: the file of an asset does not change after its upload succeeded. Every upload form leads to an object of its own
// (Object), and the record accepts a file only from the form that it names, so a late upload with an old form changes nothing.
type Asset struct {
	ID          ids.UUID
	VendorID    string
	Name        string
	ProductIDs  []string
	Brands      []string
	MimeType    string // Empty until a file was uploaded and its type was detected.
	Metadata    map[string]string
	ExternalURL string // Empty for a file that Gavel stores.
	Status      AssetStatus
	Reason      string // The reason of a rejection or of a failed upload.

	Address  string // The last part of the public URL of a file that Gavel stores.
	Forms    int    // How many upload forms were issued.
	Nonce    string // The nonce of the form that may be used; empty when none may.
	UploadBy int64  // Unix milliseconds; without a file by then the upload counts as failed.
	Size     int64
	Hash     string // SHA-256 of the file, hexadecimal.

	CreatedMillis int64
	UpdatedMillis int64
}

// ListPosition is the asset's position in lists.
func (x *Asset) ListPosition() string { return positionOf(x.CreatedMillis, x.ID) }

// Object is the name of the file in the blob store: the one that the newest form leads to, and after an upload the uploaded one.
func (x *Asset) Object() string { return fmt.Sprintf("%s-%d", x.Address, x.Forms) }

// URL is the public URL. base is the public URL of this cluster, for files that Gavel stores.
func (x *Asset) URL(base string) string { return cmp.Or(x.ExternalURL, base+AssetPath+x.Address) }

// AssetPath is the path below which the listener serves files of assets.
const AssetPath = "/assets/"

// newForm issues the permission to upload a file once, and invalidates earlier ones.
func (x *Asset) newForm(now int64) {
	x.Forms++
	x.Nonce, x.UploadBy = rand.Text(), now+UploadWait.Milliseconds()
	x.Status, x.Reason = AssetPendingUpload, ""
}

var assets = collection[Asset]{itemKind: command.RecordAsset, indexKind: command.RecordAssetIndex, key: func(x *Asset) itemKey {
	if x.Address == "" {
		return itemKey{x.ID, x.CreatedMillis, "external " + x.ID.String()}
	}
	return itemKey{x.ID, x.CreatedMillis, x.Address}
}}

// CreateAsset stores a new asset and fills in its id, times and state. address is the last part of the public URL, for an asset
// without ExternalURL. *Limit when the marketplace has as many assets, or as many bytes of files, as it may have.
func (t Tenant) CreateAsset(ctx context.Context, x *Asset, address string) error {
	x.ID, x.CreatedMillis = t.mint(ctx, 0), t.now()
	x.UpdatedMillis = x.CreatedMillis
	var more []command.Record
	if x.ExternalURL == "" {
		if err := t.checkAssetBytes(); err != nil {
			return err
		}
		x.Address = address
		x.newForm(x.CreatedMillis)
		more = append(more, t.uploadTask(x))
	} else {
		x.Status = AssetPendingApproval
		t.autoApprove(x)
	}
	stored, err := assets.addWithin(ctx, t, t.store.Limits.Assets, []Asset{*x}, more...)
	if err != nil {
		return limited(err, "assets", t.store.Limits.Assets)
	}
	*x = stored[0]
	return nil
}

// autoApprove approves an asset whose marketplace wants no reviews.
func (t Tenant) autoApprove(x *Asset) {
	if x.Status == AssetPendingApproval && t.Settings().ApproveAssets {
		x.Status = AssetApproved
	}
}

// Asset returns an asset, or ErrNotFound.
func (t Tenant) Asset(_ context.Context, id ids.UUID) (Asset, error) {
	at, err := assets.find(t, keyOfID(id))
	return at.item, err
}

// AssetByAddress returns the asset whose public URL ends with an address, or ErrNotFound.
func (t Tenant) AssetByAddress(_ context.Context, address string) (Asset, error) {
	at, err := assets.find(t, keyOfName(address))
	return at.item, err
}

// Assets lists the assets for which keep returns true, newest first.
func (t Tenant) Assets(_ context.Context, p Page, keep func(*Asset) bool) ([]Asset, bool, error) {
	return assets.list(t, p, keep)
}

// ChangeAsset rewrites the members that describe an asset. Its state stays. fn may run several times.
func (t Tenant) ChangeAsset(ctx context.Context, id ids.UUID, fn func(*Asset)) (Asset, error) {
	return assets.change(ctx, t, keyOfID(id), func(x *Asset) {
		fn(x)
		x.UpdatedMillis = t.now()
	})
}

// moveAsset changes an asset that is in one of the given states, and queues a notification when its state changes. It returns
// ErrWrongState for an asset in another state.
func (t Tenant) moveAsset(ctx context.Context, id ids.UUID, from []AssetStatus, fn func(*Asset) []command.Record) (Asset, error) {
	return assets.update(ctx, t, keyOfID(id), func(x *Asset) ([]command.Record, error) {
		before := x.Status
		if !slices.Contains(from, before) {
			return nil, ErrWrongState
		}
		more := fn(x)
		x.UpdatedMillis = t.now()
		return append(more, t.assetNotice(x, before)...), nil
	})
}

// assetNotice is the notification of a change of state; none when the state is the same.
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

// ReviewAsset approves or rejects an asset. A decision can be reversed. ErrWrongState when the asset already has the status, or waits
// for its file.
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
