package store

import (
	"context"
	"time"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// NewUpload issues a new upload form for an asset that has no file. Older forms stop working. ErrWrongState for an asset that has
// a file or a URL elsewhere; *Limit when the marketplace has as many bytes of files as it may have.
func (t Tenant) NewUpload(ctx context.Context, id ids.UUID) (Asset, error) {
	if err := t.checkAssetBytes(); err != nil {
		return Asset{}, err
	}
	return t.moveAsset(ctx, id, []AssetStatus{AssetPendingUpload, AssetUploadError}, func(x *Asset) []command.Record {
		if x.ExternalURL != "" {
			panic("store: an external asset never waits for a file")
		}
		x.newForm(t.now())
		return []command.Record{t.uploadTask(x)}
	})
}

// BeginUpload spends the nonce of a form: of two uploads with one form, at most one succeeds. ErrWrongState for a form that was used
// or replaced, or whose asset does not wait for a file any more.
func (t Tenant) BeginUpload(ctx context.Context, id ids.UUID, object, nonce string) (Asset, error) {
	if err := t.checkAssetBytes(); err != nil {
		return Asset{}, err
	}
	return assets.update(ctx, t, keyOfID(id), func(x *Asset) ([]command.Record, error) {
		if x.Status != AssetPendingUpload || x.Nonce == "" || x.Nonce != nonce || x.Object() != object {
			return nil, ErrWrongState
		}
		x.Nonce = ""
		return nil, nil
	})
}

// UploadedFile describes a file whose upload ended.
type UploadedFile struct {
	Object   string
	MimeType string
	Size     int64
	Hash     string
}

// FinishUpload gives an asset its file. ErrWrongState when another form was issued in between; then nothing refers to the file.
func (t Tenant) FinishUpload(ctx context.Context, id ids.UUID, u UploadedFile) (Asset, error) {
	return t.endUpload(ctx, id, u.Object, func(x *Asset) {
		x.Status, x.MimeType, x.Size, x.Hash = AssetPendingApproval, u.MimeType, u.Size, u.Hash
		t.autoApprove(x)
	})
}

// FailUpload records that the file of a form was refused or did not arrive whole.
func (t Tenant) FailUpload(ctx context.Context, id ids.UUID, object, reason string) (Asset, error) {
	return t.endUpload(ctx, id, object, func(x *Asset) { x.Status, x.Reason = AssetUploadError, reason })
}

func (t Tenant) endUpload(ctx context.Context, id ids.UUID, object string, fn func(*Asset)) (Asset, error) {
	return assets.update(ctx, t, keyOfID(id), func(x *Asset) ([]command.Record, error) {
		if x.Status != AssetPendingUpload || x.Nonce != "" || x.Object() != object {
			return nil, ErrWrongState
		}
		fn(x)
		x.UpdatedMillis = t.now()
		return append(t.assetNotice(x, AssetPendingUpload), t.unscheduleRecord(ScheduledTask{x.UploadBy, TaskUpload, x.ID})), nil
	})
}

// ExpireUpload does a TaskUpload: an asset that still has no file gets the state upload_error.
func (t Tenant) ExpireUpload(ctx context.Context, d ScheduledTask) error {
	_, err := t.moveAsset(ctx, d.ID, []AssetStatus{AssetPendingUpload}, func(x *Asset) []command.Record {
		if x.UploadBy <= t.now() {
			x.Status, x.Reason, x.Nonce = AssetUploadError, "no file came within 24 hours", ""
		}
		return []command.Record{t.unscheduleRecord(d)}
	})
	return err
}

func (t Tenant) uploadTask(x *Asset) command.Record {
	return t.scheduleRecord(ScheduledTask{x.UploadBy, TaskUpload, x.ID})
}

// UploadWait is how long an asset waits for its file before the upload counts as failed. BOUND: the interface's.
const UploadWait = 24 * time.Hour
