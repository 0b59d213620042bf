package traffic

import (
	"fmt"
	"math/rand/v2"
	"strconv"
)

// Words are what shoppers search for. A market with ads for searches has a campaign for each.
var Words = []string{
	"kettle", "lamp", "sofa", "jacket", "boots", "drill", "tent", "camera", "teapot", "rug", "shelf", "scarf", "racket", "hammer", "lantern", "tripod",
}

// qualifiers are other words of a search, which no campaign bids on.
var qualifiers = []string{"cheap", "blue", "large", "used", "best"}

// The slots of banners: of the home page, and of pages with the results of a search.
const (
	HomeSlot   = "traffic-home"
	SearchSlot = "traffic-search"
)

// HotelSite is the site of the hotels, and Hotels how many there are.
const (
	HotelSite = "traffic"
	Hotels    = 24
)

// HotelID is the product id of hotel i, counted from 0.
func HotelID(i int) string { return fmt.Sprintf("hotel-%02d", i) }

// AppendSearch appends the body of a search page: one auction over the words of a search.
func AppendSearch(dst []byte, r *rand.Rand, slots int) []byte {
	dst = append(dst, `{"auctions":[{"type":"listings","slots":`...)
	dst = strconv.AppendInt(dst, int64(slots), 10)
	dst = append(dst, `,"searchQuery":"`...)
	dst = appendQuery(dst, r)
	return append(dst, `"}]}`...)
}

// AppendBanners appends the body of a page with two banners: the one that every page has, and the one of a search.
func AppendBanners(dst []byte, r *rand.Rand) []byte {
	dst = append(dst, `{"auctions":[{"type":"banners","slots":1,"slotId":"`+HomeSlot+`"},{"type":"banners","slots":1,"slotId":"`+SearchSlot+`","searchQuery":"`...)
	dst = appendQuery(dst, r)
	return append(dst, `"}]}`...)
}

// AppendTravel appends the body of a travel page: one auction over all hotels of the site, for some days.
func AppendTravel(dst []byte, r *rand.Rand, slots int) []byte {
	dst = append(dst, `{"auctions":[{"type":"hotels","slots":`...)
	dst = strconv.AppendInt(dst, int64(slots), 10)
	dst = append(dst, `,"travelContext":{"site":"`+HotelSite+`","passengers":`...)
	dst = strconv.AppendInt(dst, 1+r.Int64N(4), 10)
	return append(dst, `}}]}`...)
}

func appendQuery(dst []byte, r *rand.Rand) []byte {
	dst = append(dst, qualifiers[r.IntN(len(qualifiers))]...)
	dst = append(dst, ' ')
	return append(dst, Words[r.IntN(len(Words))]...)
}
