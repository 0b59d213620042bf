package manage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/jobs"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
)

// exampleSteps are the operations with a JSON body in an order in which their examples succeed. Behind an id are the values of its
// path, "name" for the id that an earlier step has answered, and the query. A step "… -> name member" keeps that member of its answer.
// A raw step prepares what no example makes.
const exampleSteps = `
putVendors
putCategories
putProducts
patchProducts
deleteProducts
putSegments
createJsonTemplate -> template id
updateJsonTemplate json_template_id=template
createPlacement -> placement placementId
updatePlacement placement_id=placement
createSlots -> slot id
patchSlot slot_id=slot
putSlotFallback slot_id=slot
createAsset vendor_id=v-1 -> asset id
updateAsset asset_id=asset
raw POST assets/asset?vendor_id=v-1 {"name":"External","externalUrl":"https://img.example/a.png"} -> external id
reviewAsset asset_id=external
patchSettings
addBalance vendor_id=v-1
burnBalance vendor_id=v-1
createWallet vendor_id=v-1 -> wallet walletId
adjustWallet vendor_id=v-1 wallet_id=wallet
createLedgerAccount
raw POST billing-service/ledger/accounts {"accountId":"campaigns","currencyCode":"EUR"}
raw POST billing-service/ledger/transfers {"from":"$wallet","to":"promotions","amount":5}
createTransfer
createCampaign vendor_id=v-1 -> campaign campaignId
patchCampaign campaign_id=campaign
createBids campaign_id=campaign -> bid bids.0.bidId
patchBid campaign_id=campaign bid_id=bid
createRestriction campaign_id=campaign -> restriction id
patchRestriction campaign_id=campaign restriction_id=restriction
createAgencyCampaign vendor_id=v-1 -> agency id
patchAgencyCampaign campaign_id=agency
createToppieCampaign vendor_id=v-1 -> toppie id
patchToppieCampaign campaign_id=toppie
createModalCampaign vendor_id=v-1 -> modal campaignId
patchModalCampaign vendor_id=v-1 campaign_id=modal
listModalProductCampaigns vendor_id=v-1
promoteModalShop vendor_id=v-1
createInvitations
createAdvertiserUser -> user userId
patchAdvertiserUser user_id=user
createKey -> key keyId
rotateKey key_id=key
createMarketplace -> marketplace marketplaceId
patchMarketplace marketplace_id=marketplace
createWebhook -> webhook id
updateWebhook webhook_id=webhook
createAdvertiser
raw POST offsite-ads/advertisers {"vendorId":"v-1","dsp":"google_ads"} -> job jobId
createAudience vendor_id=v-1 -> audience audienceId
raw WORK after the hour in which the list must come
reportJob job_id=job
replaceAudience audience_id=audience
createOffsiteCampaign -> offsite campaignId
putOffsiteReport campaign_id=offsite
computeAttributionModels
explainAuctions
runAuctions
runSponsoredBrandAuctions
runTravelAuctions
reportEvents
raw CLICK an ad of p-100, for which its campaign is charged
createReversal
linkUsers
deleteCategories
deleteVendors
`

// exampleTemplate and exampleCampaign are the ids of a template and of a campaign in examples.
const (
	exampleTemplate = "01890a5d-ac96-774b-bcce-b302099a8057"
	exampleCampaign = "01890a5d-ac96-774b-bcce-b302099a8058"
)

// TestExamplesWork sends the example of every operation as the description has it.
func TestExamplesWork(t *testing.T) {
	w := managetest.New(t)
	w.Keys["modal"] = w.ModalToken("management", "v-1")
	w.Offsite.Connectors["google_ads"] = silentNetwork{}
	byID := map[string]operation{}
	for _, o := range operations(t) {
		byID[o.id] = o
	}
	made := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(exampleSteps), "\n") {
		call, keep, _ := strings.Cut(line, " -> ")
		if text, ok := strings.CutPrefix(call, "raw "); ok {
			prepare(t, w, text, keep, made)
			continue
		}
		id, values, _ := strings.Cut(call, " ")
		o, ok := byID[id]
		if !ok {
			t.Fatalf("there is no operation %s", id)
		}
		delete(byID, id)
		rec := sendExample(t, w, &o, strings.Fields(values), made)
		if rec.Code < 200 || rec.Code > 299 || rec.Header().Get("X-Gavel-Ignored") != "" {
			t.Errorf("%s: %d %s, ignored %q", id, rec.Code, rec.Body, rec.Header().Get("X-Gavel-Ignored"))
			continue
		}
		if name, member, ok := strings.Cut(keep, " "); ok {
			made[name] = memberOf(t, rec, member)
		}
	}
	for id, o := range byID {
		if o.op.RequestBody != nil && o.op.RequestBody.Value.Content["application/json"] != nil {
			t.Errorf("the example of %s is not tried", id)
		}
	}
}

// silentNetwork takes jobs and does not say how they end.
type silentNetwork struct{}

func (silentNetwork) Send(context.Context, store.Tenant, jobs.JobRequest) error { return nil }

// prepare sends a request of its own, does the due background work two hours later, or reports a click that is charged.
func prepare(t *testing.T, w *managetest.Environment, step, keep string, made map[string]string) {
	t.Helper()
	if strings.HasPrefix(step, "WORK") {
		w.Advance(2 * time.Hour)
		w.Work(t)
		return
	}
	if strings.HasPrefix(step, "CLICK") {
		click(t, w, made)
		return
	}
	parts := strings.SplitN(step, " ", 3)
	rec := call(w, parts[0], "/public/v1/"+parts[1], "management", strings.ReplaceAll(parts[2], "$wallet", made["wallet"]))
	if rec.Code > 299 {
		t.Fatalf("%s: %d %s", step, rec.Code, rec.Body)
	}
	if name, member, ok := strings.Cut(keep, " "); ok {
		made[name] = memberOf(t, rec, member)
	}
}

// click reports a click on the ad that an auction of p-100 has, and remembers its campaign as that which was charged.
func click(t *testing.T, w *managetest.Environment, made map[string]string) {
	t.Helper()
	rec := call(w, "POST", "/v2/auctions", "auction", `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["p-100"]}}]}`)
	if rec.Code != http.StatusCreated {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	made["charged"] = memberOf(t, rec, "results.0.winners.0.campaignId")
	rec = call(w, "POST", "/v2/events", "auction", fmt.Sprintf(`{"clicks":[{"id":"c","occurredAt":%q,"opaqueUserId":"u","resolvedBidId":%q}]}`,
		w.Now().Format(time.RFC3339), memberOf(t, rec, "results.0.winners.0.resolvedBidId")))
	if rec.Code != http.StatusOK {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
}

// sendExample sends the example of an operation. Values of its path and query are ids that were made before, or literal.
func sendExample(t *testing.T, w *managetest.Environment, o *operation, values []string, made map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	path, query := o.path, ""
	for _, pair := range values {
		name, value, _ := strings.Cut(pair, "=")
		if id, ok := made[value]; ok {
			value = id
		}
		if !strings.Contains(path, "{"+name+"}") {
			query = "?" + name + "=" + value
		}
		path = strings.ReplaceAll(path, "{"+name+"}", value)
	}
	text, err := json.Marshal(o.op.RequestBody.Value.Content["application/json"].Example)
	if err != nil || string(text) == "null" {
		t.Fatalf("%s has no example: %v", o.id, err)
	}
	key := o.key("management")
	switch {
	case o.v2():
		key = "auction"
	case (*o.op.Security)[0]["modal"] != nil:
		key = "modal"
	}
	ids := strings.NewReplacer(exampleTemplate, made["template"], exampleCampaign, made["charged"])
	return call(w, o.method, path+query, key, ids.Replace(string(text)))
}

// memberOf reads a member of an answer, with dots between the levels.
func memberOf(t *testing.T, rec *httptest.ResponseRecorder, path string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(rec.Body.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(path, ".") {
		if list, ok := v.([]any); ok {
			v = list[0]
			continue
		}
		v = v.(map[string]any)[part]
	}
	return v.(string)
}
