package jobs

import (
	"net/http"
	"time"

	"github.com/gavel-ads/gavel/node/blob"
	"github.com/gavel-ads/gavel/node/store"
)

// OffsiteListPath is the path below which the management listener accepts uploaded lists and serves lists of accepted rows.
const OffsiteListPath = "/uploads/audiences/"

// exportTime is how long a connector may begin to download a list. BOUND: the URL needs no key.
const exportTime = time.Hour

// ExportKey returns the key that signs the URLs of lists.
func ExportKey(secret [32]byte) blob.Key { return blob.KeyOf(secret, "audience exports") }

// ExportURL is a signed URL of an audience's present list of accepted rows.
func ExportURL(publicURL string, t store.Tenant, x *store.Audience, now time.Time) string {
	path := OffsiteListPath + x.ID.String()
	policy, signature := ExportKey(t.CursorKey()).Sign(blob.Policy{
		Method: http.MethodGet, Path: path, Marketplace: t.Marketplace(), Subject: x.ID.String(), Object: x.List,
		Expires: now.Add(exportTime).UnixMilli(),
	})
	return publicURL + path + "?policy=" + policy + "&signature=" + signature
}
