package driver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// tokenMax is the longest resolvedBidId the interface allows.
const tokenMax = 128

type auctionRequest struct {
	Auctions []struct {
		Type     string `json:"type"`
		Slots    int    `json:"slots"`
		Products struct {
			IDs []string `json:"ids"`
		} `json:"products"`
	} `json:"auctions"`
}

type auctionAnswer struct {
	Results []struct {
		ResultType string   `json:"resultType"`
		Winners    []Winner `json:"winners"`
		Error      *bool    `json:"error"`
	} `json:"results"`
}

// Winner is one winner of an auction.
type Winner struct {
	Rank          int    `json:"rank"`
	Type          string `json:"type"`
	ID            string `json:"id"`
	ResolvedBidID string `json:"resolvedBidId"`
	CampaignID    string `json:"campaignId"`
	Asset         []struct {
		URL string `json:"url"`
	} `json:"asset"` // Of a banner.
}

// bannerType is the type of an auction whose winners are banners.
const bannerType = "banners"

// CheckAuctions checks the answer to a body of auctions: one result of its type per auction in order, ranks without gaps, at most the
// requested winners, each with a campaign and a URL-safe token that no other winner has. A product wins once, and is one of those that were
// asked for, if any were; a banner has a picture. It returns the winners of all auctions.
func CheckAuctions(request, answer []byte) ([]Winner, error) {
	var asked auctionRequest
	if err := json.Unmarshal(request, &asked); err != nil {
		return nil, fmt.Errorf("the request itself: %w", err)
	}
	var got auctionAnswer
	if err := json.Unmarshal(answer, &got); err != nil {
		return nil, fmt.Errorf("answer %.200q: %w", answer, err)
	}
	if len(got.Results) != len(asked.Auctions) {
		return nil, fmt.Errorf("%d results for %d auctions", len(got.Results), len(asked.Auctions))
	}
	var all []Winner
	tokens := map[string]bool{}
	for i, result := range got.Results {
		a := &asked.Auctions[i]
		if result.ResultType != a.Type || result.Error == nil || *result.Error || result.Winners == nil {
			return nil, fmt.Errorf("results[%d] has resultType %q, error %v, winners %v", i, result.ResultType, result.Error, result.Winners)
		}
		if len(result.Winners) > min(a.Slots, 40) {
			return nil, fmt.Errorf("results[%d] has %d winners for %d slots", i, len(result.Winners), a.Slots)
		}
		won := map[string]bool{}
		for j, w := range result.Winners {
			if err := w.check(j+1, a.Type, a.Products.IDs); err != nil {
				return nil, fmt.Errorf("results[%d].winners[%d]: %w", i, j, err)
			}
			if won[w.ID] && a.Type != bannerType || tokens[w.ResolvedBidID] { // Several campaigns may have banners for one product.
				return nil, fmt.Errorf("results[%d].winners[%d]: the product or the token appears twice", i, j)
			}
			won[w.ID], tokens[w.ResolvedBidID] = true, true
		}
		all = append(all, result.Winners...)
	}
	return all, nil
}

// bannerTargets are the types that a winner of a banner auction may have.
var bannerTargets = []string{"product", "vendor", "brand", "url"}

func (w *Winner) check(rank int, kind string, asked []string) error {
	banner := kind == bannerType
	switch {
	case w.Rank != rank:
		return fmt.Errorf("rank %d, want %d", w.Rank, rank)
	case w.Type != "product" && !(banner && slices.Contains(bannerTargets, w.Type)):
		return fmt.Errorf("type %q", w.Type)
	case banner && (len(w.Asset) == 0 || w.Asset[0].URL == ""):
		return fmt.Errorf("banner %q has no picture", w.ID)
	case len(asked) > 0 && !slices.Contains(asked, w.ID):
		return fmt.Errorf("product %q was not asked for", w.ID)
	case w.CampaignID == "":
		return fmt.Errorf("product %q won without a campaignId", w.ID)
	case !urlSafe(w.ResolvedBidID) || len(w.ResolvedBidID) > tokenMax:
		return fmt.Errorf("resolvedBidId %q", w.ResolvedBidID)
	}
	return nil
}

func urlSafe(token string) bool {
	if token == "" {
		return false
	}
	for _, c := range []byte(token) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.' || c == '~') {
			return false
		}
	}
	return true
}

// CheckEvents checks the answer to a report of events: an empty JSON object.
func CheckEvents(answer []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(answer, &members); err != nil || members == nil || len(members) != 0 {
		return fmt.Errorf("events answered %.200q, want {}", bytes.TrimSpace(answer))
	}
	return nil
}
