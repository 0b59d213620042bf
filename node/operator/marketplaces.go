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

// Marketplace returns a marketplace of the cluster.
func (c Client) Marketplace(ctx context.Context, id string) (m Marketplace, err error) {
	return m, c.callAt(ctx, http.MethodGet, marketplacePath(id), nil, &m)
}

// SetClosed closes a marketplace in every group, or opens it again, and returns what it is then. After an error some groups may
// have done it; a repeat finishes it.
func (c Client) SetClosed(ctx context.Context, id string, closed bool) (m Marketplace, err error) {
	return m, c.callAt(ctx, http.MethodPatch, marketplacePath(id), map[string]bool{"closed": closed}, &m)
}

func marketplacePath(id string) string {
	return "/public/v1/marketplace-service/marketplaces/" + url.PathEscape(id)
}
