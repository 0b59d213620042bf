// A campaign's page counts the different users on demand, and shows what the node says.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAccessibility, openPage, screenshot, settled, signedOutNotice, signIn } from "./browser.mjs";
import { openCampaign, until } from "./node.mjs";
import { inEach, views } from "./views.mjs";

const product = "reaching-product";
const did = { users: 9, clicked: 4, bought: 2 }; // Every user sees the ad twice; the first ones click, and the first of these buy.

export function reachTests(given) {
  test("a campaign's page counts the different users it reached", async () => {
    const { browser, demo, shop } = given;
    const ask = async (opaqueUserId) => {
      const auction = { type: "listings", slots: 1, products: { ids: [product] }, opaqueUserId };
      return (await demo.send("/v2/auctions", { auctions: [auction] })).results[0].winners[0]?.resolvedBidId;
    };
    const { campaignId } = await openCampaign(demo, shop.vendor, product, "Reaching");
    await until(() => "the campaign wins", async () => (await ask("nobody")) !== undefined);
    const occurredAt = new Date().toISOString();
    for (let i = 0; i < did.users; i++) {
      const opaqueUserId = `reached-user-${i}`;
      const resolvedBidId = await ask(opaqueUserId);
      const event = (id) => ({ id: `${id} of ${opaqueUserId}`, occurredAt, opaqueUserId, resolvedBidId });
      const again = { ...event("second impression"), resolvedBidId: await ask(opaqueUserId) };
      await demo.send("/v2/events", {
        impressions: [event("impression"), again],
        clicks: i < did.clicked ? [event("click")] : [],
        purchases:
          i < did.bought
            ? [{ id: `order of ${opaqueUserId}`, occurredAt, opaqueUserId, items: [{ productId: product, quantity: 1, unitPrice: 5 }] }]
            : [],
      });
    }
    const dayFromNow = (days) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    let reach;
    await until(() => `the buyers are counted: ${JSON.stringify(reach)}`, async () => {
      reach = await demo.api("GET", `/reporting-service/campaigns/${campaignId}/reach?start_date=${dayFromNow(-1)}&end_date=${dayFromNow(1)}`);
      return reach.bought === did.bought;
    });
    assert.deepEqual([reach.reached, reach.clicked, reach.frequency], [did.users, did.clicked, 2]);

    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
    const { page } = window;
    await signIn(window);
    let asked = 0;
    page.on("request", (request) => (asked += request.url().includes("/reach?") ? 1 : 0));
    await window.go(`/campaigns/${campaignId}`);
    await settled(page);
    assert.equal(asked, 0, "the users are counted on demand only");
    await page.getByRole("button", { name: "Count users" }).click();
    for (const [label, value] of [
      ["Users reached", "9"],
      ["Frequency", "2.00"],
      ["Users who clicked", "4"],
      ["Users who bought", "2"],
    ]) {
      const figure = page.getByText(label, { exact: true }).locator("xpath=..");
      await figure.getByText(value, { exact: true }).waitFor();
    }
    await inEach(page, views, async ({ name }) => {
      await page.getByText("Users reached").scrollIntoViewIfNeeded();
      await screenshot(page, `${name}-reach`);
      if (name !== "narrow") await checkAccessibility(page, "reach");
    });
    await page.setViewportSize(views[0]);
    await page.getByText("7 days", { exact: true }).click();
    await page.getByRole("button", { name: "Count users" }).waitFor();
    await demo.api("DELETE", `/campaign-service/campaigns/${campaignId}`);
    await window.close();
  });
}
