package operator

import (
	"context"
	"net/http"
	"net/url"
)

// Marketplace is a marketplace of the cluster, as far as moving it needs.
type Marketplace struct {
	ID     string `json:"marketplaceId"`
	Name   string `json:"name"`
	Closed bool   `json:"closed"`
}

// SetClosed closes a marketplace in every group, or opens it again, and returns what it is then. After an error some groups may
// have done it; a repeat finishes it.
func (c Client) SetClosed(ctx context.Context, id string, closed bool) (m Marketplace, err error) {
	path := "/public/v1/marketplace-service/marketplaces/" + url.PathEscape(id)
	return m, c.callAt(ctx, http.MethodPatch, path, map[string]bool{"closed": closed}, &m)
}
