package main_test

import "testing"

// Every row of the tables of listings, banners and external demand holds.
func TestConformanceAuctionFields(t *testing.T) {
	s := startNode(t)
	const one = `{"type":"listings","slots":1,"products":{"ids":["p1"]}}`
	s.runTable("auctions.txt", "/v2/auctions", map[string]string{
		"one": one, "demand": "abcdefghijklmnopqrstuvwxyz_-0123",
		"bid": `{"chargeType":"CPC","entity":{"type":"product","id":"p1"},"bidAmount":1}`,
	})
}
