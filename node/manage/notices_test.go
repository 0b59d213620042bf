package manage_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
)

// notified is a marketplace with a campaign, a product and a webhook on every channel of campaigns and bids.
type notified struct {
	*testing.T
	*managetest.Environment
	hooks map[string]string // The id of each channel's webhook.
}

func newNotified(t *testing.T, level command.Level) *notified {
	t.Helper()
	n := &notified{t, managetest.NewAt(t, level), map[string]string{}}
	n.do(http.MethodPut, catalogs+"/vendors", `{"vendors":[{"id":"v","name":"V"}]}`)
	n.do(http.MethodPut, someProducts, `{"products":[{"id":"p","name":"P","vendors":["v"],"categories":[]}]}`)
	for _, channel := range []store.Channel{
		store.ChannelCampaignCreate, store.ChannelCampaignUpdate, store.ChannelCampaignDelete,
		store.ChannelBidCreate, store.ChannelBidUpdate, store.ChannelBidDelete,
	} {
		made := n.do(http.MethodPost, "/webhooks/webhooks", fmt.Sprintf(`{"url":"https://example.com/","channel":%q}`, channel))
		n.hooks[string(channel)] = made["id"].(string)
	}
	return n
}

// do sends a request that has to succeed.
func (n *notified) do(method, path, body string) map[string]any {
	n.Helper()
	status, answer := send(n.Environment, method, path, body)
	if status >= http.StatusBadRequest {
		n.Fatalf("%s %s %s: %d %v", method, path, body, status, answer)
	}
	return answer
}

// payloads lists the payloads in the log of a channel's webhook, newest first.
func (n *notified) payloads(channel string) (all []string) {
	n.Helper()
	log := n.do(http.MethodGet, "/webhooks/webhooks/"+n.hooks[channel]+"/deliveries", "")
	for _, d := range log["deliveries"].([]any) {
		all = append(all, fmt.Sprint(d.(map[string]any)["body"].(map[string]any)["payload"]))
	}
	return all
}

func (n *notified) create(name string) string {
	n.Helper()
	made := n.do(http.MethodPost, "/campaign-service/campaigns?vendor_id=v",
		`{"name":"`+name+`","campaignType":"manual","bids":[{"target":{"type":"product","id":"p"},"amount":1}]}`)
	return made["campaignId"].(string)
}

// TestEveryChangeIsNotifiedOnce: each change of a campaign or of bids is in the log of its webhook once: before its notice is moved
// to the list of deliveries, and after it. A change that was refused, or made before, is not. It is the same while a node of an
// older version is in the cluster.
func TestEveryChangeIsNotifiedOnce(t *testing.T) {
	for level, afterwards := range map[command.Level]int{command.LevelNewest: 1, command.LevelNotices - 1: 2} {
		n := newNotified(t, level)
		id := n.create("first")
		path := "/campaign-service/campaigns/" + id
		n.do(http.MethodPatch, path, `{"name":"second"}`)
		n.do(http.MethodPost, path+"/restrictions", `{"restrictionTypeId":1,"limit":3}`)
		bids := n.do(http.MethodPost, path+"/bids", `{"bids":[{"target":{"type":"product","id":"p"},"amount":1},{"target":{"type":"product","id":"p"},"amount":2}]}`)
		var made []string
		for _, b := range bids["bids"].([]any) {
			made = append(made, b.(map[string]any)["bidId"].(string))
		}
		n.do(http.MethodPatch, path+"/bids/"+made[0], `{"amount":3}`)
		n.do(http.MethodDelete, path+"/bids/"+made[1], "")
		n.do(http.MethodDelete, path, "")
		if status, _ := send(n.Environment, http.MethodPatch, path, `{"name":"third"}`); status != http.StatusConflict {
			t.Errorf("a change of a deleted campaign was answered %d", status)
		}
		marketplace := fmt.Sprint(n.Store.Tenant(managetest.Main).Settings().ID)
		campaign := func(name string) string {
			return "map[ad_format:listing campaign_id:" + id + " campaign_type:manual marketplace_id:" + marketplace + " name:" + name + " vendor_id:v]"
		}
		bid := func(ids ...string) string {
			return fmt.Sprint("map[bid_ids:", ids, " campaign_id:", id, " marketplace_id:", marketplace, "]")
		}
		want := map[string]string{
			"campaign:create": campaign("first"), "campaign:update": campaign("second"), "campaign:delete": campaign("second"),
			"bid:create": bid(made...), "bid:update": bid(made[0]), "bid:delete": bid(made[1]),
		}
		for range 2 {
			for channel, payload := range want {
				if got := n.payloads(channel); len(got) != 1 || got[0] != payload {
					t.Errorf("level %d, %s: %q, want once %q", level, channel, got, payload)
				}
			}
			n.Notices().Round(t.Context())
		}
		if moved := n.Notices().Round(t.Context()); moved != 0 {
			t.Errorf("%d notices are left", moved)
		}
		n.do(http.MethodDelete, path, "") // The state machine knows that it is a repeat; older versions notified of it again.
		if got := n.payloads("campaign:delete"); len(got) > afterwards {
			t.Errorf("level %d: a repeated deletion: %q", level, got)
		}
	}
}

// TestAMoveThatStopsHalfwayIsCompleted: a leader that stops between storing deliveries and removing their notices leaves work that
// the next one does without a second delivery.
func TestAMoveThatStopsHalfwayIsCompleted(t *testing.T) {
	n := newNotified(t, command.LevelNewest)
	n.create("first")
	n.create("second")
	n.FailWritesAfter(1) // The deliveries are stored, and the notices stay.
	n.Notices().Round(t.Context())
	if !strings.Contains(n.Log(), "notices_not_moved") {
		t.Fatalf("the first round did not stop halfway: %s", n.Log())
	}
	n.FailWrites(false)
	n.create("third")
	if moved := n.Notices().Round(t.Context()); moved != 3 {
		t.Errorf("%d notices were moved, want the two of the first round and one more", moved)
	}
	tasks, err := n.Store.Tenant(managetest.Main).DueTasks(t.Context(), store.TaskDelivery, 100)
	if got := n.payloads("campaign:create"); len(got) != 3 || len(tasks) != 3 || err != nil {
		t.Errorf("%d deliveries and %d tasks (%v), want 3: %q", len(got), len(tasks), err, got)
	}
}

// TestNoNoticeWithoutAWebhook: a marketplace without webhooks stores no notices.
func TestNoNoticeWithoutAWebhook(t *testing.T) {
	n := &notified{t, managetest.New(t), nil}
	n.do(http.MethodPut, catalogs+"/vendors", `{"vendors":[{"id":"v","name":"V"}]}`)
	n.do(http.MethodPut, someProducts, `{"products":[{"id":"p","name":"P","vendors":["v"],"categories":[]}]}`)
	n.create("unheard")
	if moved := n.Notices().Round(t.Context()); moved != 0 {
		t.Errorf("%d notices of a marketplace without webhooks", moved)
	}
}
