package store

import (
	"context"
	"time"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// NewUpload makes a new form for an asset whose file did not come. Older forms stop working.
func (t Tenant) NewUpload(ctx context.Context, id ids.UUID) (Asset, error) {
	if err := t.admitFile(); err != nil {
		return Asset{}, err
	}
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
	if err := t.admitFile(); err != nil {
		return Asset{}, err
	}
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

func (t Tenant) uploadDue(x *Asset) command.Record {
	return t.dueRecord(Due{x.UploadBy, DueUpload, x.ID})
}

// UploadWait is how long an asset waits for its file before the upload counts as failed. BOUND: of the interface.
const UploadWait = 24 * time.Hour
