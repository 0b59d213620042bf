package store_test

import (
	"errors"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
)

// TestBytesOfAssets: while the files of a marketplace take all the bytes that they may take, no form is issued and no form that
// was issued before is accepted. Deleting a file frees its bytes, and another tenant has its own bound.
func TestBytesOfAssets(t *testing.T) {
	w := managetest.New(t)
	w.Store.Limits.AssetBytes = 1000
	of := func(tenant store.Tenant, address string, size int64) (store.Asset, error) {
		x := store.Asset{VendorID: "v", Name: "A"}
		if err := tenant.CreateAsset(t.Context(), &x, address); err != nil {
			return x, err
		}
		begun, err := tenant.BeginUpload(t.Context(), x.ID, x.Object(), x.Nonce)
		if err != nil || size == 0 {
			return x, err
		}
		return tenant.FinishUpload(t.Context(), x.ID, store.UploadedFile{Object: begun.Object(), MimeType: "image/png", Size: size})
	}
	main, other := w.Store.Tenant(managetest.Main), w.Store.Tenant(managetest.Other)
	waiting := store.Asset{VendorID: "v", Name: "waiting"}
	if err := main.CreateAsset(t.Context(), &waiting, "waiting"); err != nil {
		t.Fatal(err)
	}
	if _, err := of(main, "a", 600); err != nil {
		t.Fatal(err)
	}
	full, err := of(main, "b", 400)
	if err != nil {
		t.Fatal(err)
	}
	_, begun := main.BeginUpload(t.Context(), waiting.ID, waiting.Object(), waiting.Nonce)
	_, renewed := main.NewUpload(t.Context(), waiting.ID)
	_, made := of(main, "c", 1)
	for what, err := range map[string]error{"a new asset": made, "a new form": renewed, "a form of before": begun} {
		if limit, ok := errors.AsType[*store.Limit](err); !ok || limit.Max != 1000 {
			t.Errorf("%s: %v, want the limit", what, err)
		}
	}
	if _, err := of(other, "d", 1); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	if _, err := main.DeleteAsset(t.Context(), full.ID, "nowhere"); err != nil {
		t.Fatal(err)
	}
	if _, err := main.BeginUpload(t.Context(), waiting.ID, waiting.Object(), waiting.Nonce); err != nil {
		t.Errorf("after a file was deleted: %v", err)
	}
	if used := w.Store.AssetBytes.Used(managetest.Main); used != 600 {
		t.Errorf("%d bytes are counted, want 600", used)
	}
}
