package apierr

// Code is one refusal of the API. The zero value is no refusal. Codes are numbers of this process only: what clients, logs
// and metrics see is the errCode.
//
// Two errCodes have two codes each, because their status depends on the reason: InvalidAPIKey (401, unknown key) and
// ForbiddenAPIKey (403, key of the other kind); BadRequest (400) and HeadTooLarge (431). So a Code alone always determines
// the status.
type Code uint8

// The codes, in the order of the interface's table. Codes that the interface reserves and never raises are included, so
// that the documentation page of errors is complete.
const (
	OK Code = iota
	InvalidAPIKey
	ForbiddenAPIKey
	BadRequest
	HeadTooLarge
	InvalidJSON
	EmptyRequest
	RequestCanceled
	InvalidOperation
	MissingAuctions
	TooManyAuctions
	MissingSlots
	TooFewSlots
	InvalidAuctionID
	MissingPromotionType
	InvalidPromotionType
	InvalidContext
	MissingContext
	InvalidPlacementID
	MissingPlacement
	MissingSlotID
	InvalidCategory
	InvalidOpaqueUserID
	NoProducts
	NoProductsOrCategory
	TooManyProducts
	MissingProductID
	ProductInfoMismatch
	InvalidQualityScore
	NonPositivePrice
	InvalidGeoTargeting
	TooManyLocations
	InvalidLocationCell
	InvalidDevice
	TooManySearchQueryWords
	ExperimentVariantTooLong
	InvalidDemandSource
	InvalidExternalBid
	TooManyExternalBids
	InvalidExternalDemandAdType
	UnauthorizedExternalDemand
	InvalidEventTime
	InvalidEventType
	InvalidResolvedBidID
	ResolvedBidIDNotFound
	InvalidUseOfExternalCampaignID
	NoPurchaseItems
	MissingPurchasedAt
	PurchaseItemQuantity
	MissingSession
	InvalidSession
	TooFewImpressions
	InvalidTravelType
	InvalidTravelCategory
	InvalidTravelDateRange
	InvalidDateFormat
	TooManyPassengers
	InvalidTravelerType
	MissingVariationID
	MissingFlightTravelContext
	InvalidMarketplace
	InvalidVendor
	ResourceNotFound
	AccountUniqueViolation
	InvalidLedgerAccount
	InsufficientBalance
	DifferentCurrencies
	EqualFromAndTo
	AlreadyExists
	LimitExceeded
	MethodNotAllowed
	PayloadTooLarge
	UnsupportedMediaType
	TooManyRequests
	InternalServerError
	ServiceUnavailable
	NotSignedIn
	WrongCredentials
	ForbiddenRole
	CrossOrigin
	SecondFactorRequired
)

// Codes is the number of codes, OK included: the size of an array indexed by Code.
const Codes = int(SecondFactorRequired) + 1

type row struct {
	errCode string
	status  int
	message string
}

// INVARIANT: every errCode of the interface stands here once with its status (ForbiddenAPIKey and HeadTooLarge are the
// exceptions); the test reads the interface's own table and compares both ways. Messages need no JSON escaping.
var table = [Codes]row{
	OK:                             {"ok", 200, "no error"},
	InvalidAPIKey:                  {"invalid_api_key", 401, "the API key is absent, malformed, unknown, expired or revoked"},
	ForbiddenAPIKey:                {"invalid_api_key", 403, "the API key is of the wrong kind for this operation"},
	BadRequest:                     {"bad_request", 400, "a member has the wrong type or is out of bounds"},
	HeadTooLarge:                   {"bad_request", 431, "the request head is too large"},
	InvalidJSON:                    {"invalid_json", 400, "the body is not UTF-8 JSON"},
	EmptyRequest:                   {"empty_request", 400, "the request has no body"},
	RequestCanceled:                {"request_canceled", 499, "the client closed the connection"},
	InvalidOperation:               {"invalid_operation", 409, "the resource is in the wrong state for this operation"},
	MissingAuctions:                {"missing_auctions", 400, "auctions must hold 1 to 5 auctions"},
	TooManyAuctions:                {"too_many_auctions", 400, "auctions must hold at most 5 auctions"},
	MissingSlots:                   {"missing_slots", 400, "the number of winners wanted is absent"},
	TooFewSlots:                    {"too_few_slots", 400, "the number of winners wanted must be at least 1"},
	InvalidAuctionID:               {"invalid_auction_id", 400, "the auction id is not valid"},
	MissingPromotionType:           {"missing_promotion_type", 400, "type is absent"},
	InvalidPromotionType:           {"invalid_promotion_type", 400, "type is unknown for this operation"},
	InvalidContext:                 {"invalid_context", 400, "too many contexts in one auction"},
	MissingContext:                 {"missing_context", 400, "the auction has no trigger or context"},
	InvalidPlacementID:             {"invalid_placement_id", 400, "placementId is not valid"},
	MissingPlacement:               {"missing_placement", 400, "placementId is absent"},
	MissingSlotID:                  {"missing_slot_id", 400, "a banner auction needs slotId"},
	InvalidCategory:                {"invalid_category", 400, "category must have exactly one of id, ids and disjunctions, every array with 1 to 5 elements"},
	InvalidOpaqueUserID:            {"invalid_opaque_user_id", 400, "opaqueUserId must have at most 90 characters, and at least 1 in events"},
	NoProducts:                     {"no_products", 400, "products has no ids"},
	NoProductsOrCategory:           {"no_products_or_category", 400, "a listings auction needs products, a category or a search query"},
	TooManyProducts:                {"too_many_products", 400, "products.ids must hold at most 10,000 ids"},
	MissingProductID:               {"missing_product_id", 400, "a product or entity id is absent or empty"},
	ProductInfoMismatch:            {"product_info_mismatch", 400, "qualityScores and ids must have the same length"},
	InvalidQualityScore:            {"invalid_quality_score", 400, "a quality score must be 0.0 to 1.0"},
	NonPositivePrice:               {"non_positive_price", 400, "the price is too small"},
	InvalidGeoTargeting:            {"invalid_geo_targeting", 400, "geoTargeting must have exactly one of location and locations, not empty"},
	TooManyLocations:               {"too_many_locations", 400, "geoTargeting.locations must hold at most 2 locations"},
	InvalidLocationCell:            {"invalid_location_cell", 400, "the location is not an H3 cell"},
	InvalidDevice:                  {"invalid_device", 400, "the device must be desktop or mobile"},
	TooManySearchQueryWords:        {"too_many_search_query_words", 400, "searchQuery must have at most 32 words"},
	ExperimentVariantTooLong:       {"experiment_variant_too_long", 400, "experimentVariant must have at most 10 characters"},
	InvalidDemandSource:            {"invalid_demand_source", 400, "the demand source is not valid"},
	InvalidExternalBid:             {"invalid_external_bid", 400, "the external bid is not valid"},
	TooManyExternalBids:            {"too_many_external_bids", 400, "demandSources must hold at most 100 bids"},
	InvalidExternalDemandAdType:    {"invalid_external_demand_ad_type", 400, "only listings auctions accept external demand"},
	UnauthorizedExternalDemand:     {"unauthorized_external_demand", 400, "the marketplace does not accept external demand"},
	InvalidEventTime:               {"invalid_event_time", 400, "the time of the event is absent, unreadable or in the future"},
	InvalidEventType:               {"invalid_event_type", 400, "the body names none of impressions, clicks, purchases and pageviews"},
	InvalidResolvedBidID:           {"invalid_resolved_bid_id", 400, "the resolvedBidId is not authentic for this marketplace"},
	ResolvedBidIDNotFound:          {"resolved_bid_id_not_found", 400, "the resolvedBidId was not found"},
	InvalidUseOfExternalCampaignID: {"invalid_use_of_external_campaign_id", 400, "externalCampaignId must not stand beside resolvedBidId"},
	NoPurchaseItems:                {"no_purchase_items", 400, "the purchase has no items"},
	MissingPurchasedAt:             {"missing_purchased_at", 400, "the purchase has no time"},
	PurchaseItemQuantity:           {"purchase_item_quantity_less_or_equal_than_zero", 400, "the quantity of an item must be at least 1"},
	MissingSession:                 {"missing_session", 400, "the session is absent"},
	InvalidSession:                 {"invalid_session", 400, "the session is not valid"},
	TooFewImpressions:              {"too_few_impressions", 400, "the report has no impressions"},
	InvalidTravelType:              {"invalid_travel_type", 400, "type must be hotels or flights"},
	InvalidTravelCategory:          {"invalid_travel_category", 400, "the travel category is empty"},
	InvalidTravelDateRange:         {"invalid_travel_date_range", 400, "the end must be after the start"},
	InvalidDateFormat:              {"invalid_date_format", 400, "a date must be written YYYY-MM-DD"},
	TooManyPassengers:              {"too_many_passengers", 400, "there must be fewer than ten passengers"},
	InvalidTravelerType:            {"invalid_traveler_type", 400, "the traveler type must be family, group, solo or couple"},
	MissingVariationID:             {"missing_variation_id", 400, "the variation id is absent"},
	MissingFlightTravelContext:     {"missing_flight_travel_context", 400, "a flights auction needs its travel context"},
	InvalidMarketplace:             {"invalid_marketplace", 403, "the marketplace is suspended or deleted"},
	InvalidVendor:                  {"invalid_vendor", 404, "the vendor is unknown"},
	ResourceNotFound:               {"resource_not_found", 404, "there is no such path or resource"},
	AccountUniqueViolation:         {"account_unique_violation", 409, "the ledger account id is taken"},
	InvalidLedgerAccount:           {"invalid_ledger_account", 400, "the ledger account is unknown or closed"},
	InsufficientBalance:            {"insufficient_balance", 400, "the balance is too low"},
	DifferentCurrencies:            {"different_currencies", 400, "the accounts have different currencies"},
	EqualFromAndTo:                 {"equal_from_and_to", 400, "the two accounts of a transfer must differ"},
	AlreadyExists:                  {"already_exists", 409, "a unique value is taken"},
	LimitExceeded:                  {"limit_exceeded", 409, "the marketplace or the vendor has as many of these as it may have"},
	MethodNotAllowed:               {"method_not_allowed", 405, "the path does not serve this method"},
	PayloadTooLarge:                {"payload_too_large", 413, "the body is over its limit"},
	UnsupportedMediaType:           {"unsupported_media_type", 415, "the content type or encoding is not accepted"},
	TooManyRequests:                {"too_many_requests", 429, "the rate limit of this key is used up"},
	InternalServerError:            {"internal_server_error", 500, "an internal error occurred"},
	ServiceUnavailable:             {"service_unavailable", 503, "the service cannot answer now; repeat the request"},
	NotSignedIn:                    {"not_signed_in", 401, "sign in to the console: there is no login session, or it has ended"},
	WrongCredentials:               {"wrong_credentials", 401, "the e-mail address, the password or the link is wrong"},
	ForbiddenRole:                  {"forbidden_role", 403, "the role of the signed-in user does not allow this operation"},
	CrossOrigin:                    {"cross_origin_request", 403, "a page of another origin must not change anything here"},
	SecondFactorRequired:           {"second_factor_required", 401, "the password is right; repeat the request with the code of the second factor"},
}
