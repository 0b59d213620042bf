package offsite

import (
	"net/http"
	"time"

	"github.com/gavel-ads/gavel/node/blob"
	"github.com/gavel-ads/gavel/node/store"
)

// ListPath is where the management listener takes lists and serves clean ones.
const ListPath = "/uploads/audiences/"

// exportTime is how long a connector may begin to fetch a list. BOUND: the address needs no key.
const exportTime = time.Hour

// ExportKey signs the addresses of clean lists.
func ExportKey(secret [32]byte) blob.Key { return blob.KeyOf(secret, "audience exports") }

// ExportURL is a signed address of the clean list that an audience has now.
func ExportURL(publicURL string, t store.Tenant, x *store.Audience, now time.Time) string {
	path := ListPath + x.ID.String()
	policy, signature := ExportKey(t.CursorKey()).Seal(blob.Policy{
		Method: http.MethodGet, Path: path, Marketplace: t.Marketplace(), Subject: x.ID.String(), Object: x.List,
		Expires: now.Add(exportTime).UnixMilli(),
	})
	return publicURL + path + "?policy=" + policy + "&signature=" + signature
}
