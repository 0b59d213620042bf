package console

import (
	"slices"

	"github.com/gavel-ads/gavel/node/store"
)

// Rule says who may call an operation of /public/v1 or of the operator with a login session. An operation without a rule cannot be
// mounted, so that a new one is a decision.
type Rule struct {
	Roles []store.ConsoleRole
	// Vendor says how a request with a vendor role is bound to its vendor. It is set for operations that allow such a role.
	Vendor VendorBinding
}

// Allows reports whether a role may call the operation.
func (r *Rule) Allows(role store.ConsoleRole) bool { return slices.Contains(r.Roles, role) }

// VendorBinding is how an operation is bound to one vendor.
type VendorBinding uint8

// The bindings. Whatever the binding, a request that names another vendor anywhere is refused.
const (
	// NoVendor is the binding of operations that no vendor role may call, or that show nothing of any vendor.
	NoVendor VendorBinding = iota
	// VendorInPath binds by the path: its value vendor_id must be the vendor.
	VendorInPath
	// VendorIsItem binds by the path of an operation on the vendor itself: its value id must be the vendor.
	VendorIsItem
	// VendorInQuery binds by the query: the listener sets vendor_id. A list is then filtered, and an object of another vendor is answered
	// like an unknown one.
	VendorInQuery
	// VendorInToken binds operations of the vendors' dialog, which act for the vendor of the caller.
	VendorInToken
)

var (
	admins  = []store.ConsoleRole{store.RoleAdmin}
	runners = []store.ConsoleRole{store.RoleAdmin, store.RoleOperator}
	staff   = []store.ConsoleRole{store.RoleAdmin, store.RoleOperator, store.RoleAnalyst}
	vendors = []store.ConsoleRole{store.RoleVendorAdmin, store.RoleVendorAnalyst}
	sellers = []store.ConsoleRole{store.RoleVendorAdmin}
)

// Analysts read what is advertised, what it costs and what came of it. They see no keys, people, webhooks, links or raw requests.
// Operators run all that. Admins also decide who may do what, where data is sent, and how the marketplace is set up.
//
// Vendor roles read through the same operations as everybody, bound to their vendor, and change campaigns through the operations of the
// vendors' dialog, which know that a marketplace may want to review them.
var rules = []struct {
	roles      []store.ConsoleRole
	binding    VendorBinding
	operations []string
}{
	{staff, NoVendor, []string{
		"listAgencyCampaigns", "getAgencyCampaign", "explainAuctions", "listRecentAuctions", "listFill",
		"getLedgerAccount", "listLedgerEntries", "listTransfers", "listReversals", "getReversal", "listJsonTemplates", "getJsonTemplate",
		"listVendors", "getSettings", "listSlots", "getSlotFallback",
		"getAdvertiser", "listAudiences", "getJob", "getOffsiteReport", "listPlacements", "getPlacement", "listInteractions",
		"getMarketplaceReport", "getMarketplaceBreakdown", "getMarketplaceExperiment", "getMarketplaceDailyReport", "getMarketplaceHourlyReport", "getMarketplaceReach",
		"getProductReport", "getProductDailyReport", "getProductHourlyReport", "listSegments", "getProduct",
		"listAttributionModels", "getAttributionModels",
	}},
	{slices.Concat(staff, vendors), NoVendor, []string{
		"listCategories", "countCategories", "getCategory", "listRestrictionTypes", "getRestrictionType",
	}},
	{slices.Concat(staff, vendors), VendorInPath, []string{
		"getBalance", "listWallets", "getWallet", "getVendorReport", "getVendorDailyReport", "getVendorHourlyReport", "getVendorReach",
		"getVendorBreakdown",
	}},
	{slices.Concat(staff, vendors), VendorIsItem, []string{"getVendor"}},
	{slices.Concat(staff, vendors), VendorInQuery, []string{
		"listCampaigns", "getCampaign", "listBids", "forecastCampaign", "listCampaignProducts", "listRestrictions", "listProducts",
		"listAssets", "getAsset", "listAssetUses",
		"getCampaignReport", "getCampaignDailyReport", "getCampaignHourlyReport", "getCampaignProductsReport", "getCampaignIncrementality",
		"getCampaignReach", "getCampaignBreakdown",
	}},
	{slices.Concat(runners, sellers), VendorInQuery, []string{"createAsset", "deleteAsset", "renewAssetUpload"}},
	{runners, NoVendor, []string{
		"createAgencyCampaign", "patchAgencyCampaign", "deleteAgencyCampaign", "updateAsset", "reviewAsset", "exportRecordedAuctions",
		"createLedgerAccount", "createTransfer", "addBalance", "burnBalance", "createWallet", "adjustWallet", "createReversal",
		"createCampaign", "patchCampaign", "deleteCampaign", "createBids", "patchBid", "deleteBid", "createRestriction", "patchRestriction",
		"createJsonTemplate", "updateJsonTemplate", "archiveJsonTemplate", "listJsonTemplateVersions", "restoreJsonTemplateVersion",
		"putCategories", "deleteCategories", "putProducts", "patchProducts", "deleteProducts", "putVendors", "deleteVendors",
		"createSlots", "patchSlot", "putSlotFallback", "createAdvertiser", "createAudience", "replaceAudience", "createOffsiteCampaign",
		"reportJob", "putOffsiteReport", "createPlacement", "updatePlacement", "putSegments", "deleteSegment", "uploadSegment",
		"listAuditLog", "computeAttributionModels", "deleteAttributionModels",
	}},
	{admins, NoVendor, []string{
		"createKey", "listKeys", "deleteKey", "rotateKey", "patchSettings", "createInvitations", "listInvitations", "deleteInvitation",
		"getAdvertiserUser", "createAdvertiserUser", "patchAdvertiserUser", "deleteAdvertiserUser",
		"createWebhook", "listWebhooks", "updateWebhook", "deleteWebhook", "listDeliveries", "testWebhook", "eraseUser",
		"createMarketplace", "listMarketplaces", "getMarketplace", "patchMarketplace", "createMarketplaceKeys",
	}},
	{vendors, VendorInToken, []string{
		"getModalReport", "getModalDailyReport", "getModalMarketplace", "getModalShopCampaign", "getModalCampaign",
		"getModalDefaultBudget", "listModalProductCampaigns",
	}},
	{sellers, VendorInToken, []string{
		"createModalCampaign", "patchModalCampaign", "deleteModalCampaign", "promoteModalShop",
	}},
	// A vendor's token ends with the key that it was issued for, and a session has none.
	{nil, NoVendor, []string{"authorizeModalVendor"}},
}

// OperatorRule is the rule of the operations of the cluster's operator. Only the first marketplace has them.
var OperatorRule = Rule{Roles: admins}

// Rules returns the rules by operation ids. It panics when an operation has two.
func Rules() map[string]*Rule {
	all := map[string]*Rule{}
	for _, r := range rules {
		for _, id := range r.operations {
			if all[id] != nil {
				panic("console: two rules for " + id)
			}
			all[id] = &Rule{r.roles, r.binding}
		}
	}
	return all
}
