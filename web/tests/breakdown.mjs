// Where ads were shown and clicked: on the page of a campaign, and in reports.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAccessibility, openPage, screenshot, signedOutNotice, signIn } from "./browser.mjs";
import { openCampaign, until } from "./node.mjs";
import { inEach, views } from "./views.mjs";

const product = "broken-down-product";

// show shows an ad four times on telephones and twice on a computer, and clicks it there, in a newsletter.
async function show(demo, campaignId) {
  const ask = async () => {
    const { results } = await demo.send("/v2/auctions", { auctions: [{ type: "listings", slots: 1, products: { ids: [product] } }] });
    return results[0].winners[0]?.resolvedBidId;
  };
  await until(() => "the campaign wins", async () => (await ask()) !== undefined);
  const resolvedBidId = await ask();
  const occurredAt = new Date().toISOString();
  const event = (id, members) => ({ id: `broken down ${id}`, occurredAt, opaqueUserId: `user ${id}`, resolvedBidId, ...members });
  await demo.send("/v2/events", {
    impressions: [1, 2, 3, 4, 5, 6].map((n) => event(n, { deviceType: n <= 4 ? "mobile" : "desktop" })),
    clicks: [event("click", { deviceType: "desktop", channel: "newsletter" })],
  });
  const dayFromNow = (days) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  const days = `start_date=${dayFromNow(-1)}&end_date=${dayFromNow(1)}`;
  await until(() => "the click is counted", async () => {
    const { reports } = await demo.api("GET", `/reporting-service/campaigns/${campaignId}/breakdown?by=channel&${days}`);
    return reports.some(({ value, clicks }) => value === "other" && clicks.total === 1);
  });
}

export function breakdownTests(given) {
  test("a campaign and a report are broken down by device, channel and keyword", async () => {
    const { browser, demo, shop } = given;
    const { campaignId } = await openCampaign(demo, shop.vendor, product, "Broken down");
    await show(demo, campaignId);
    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
    const { page } = window;
    await signIn(window);
    await window.go(`/campaigns/${campaignId}`);
    const row = (name) => page.getByRole("row", { name }).getByRole("cell").allInnerTexts();
    await page.getByRole("region", { name: "Report by device" }).waitFor();
    assert.deepEqual((await row(/^Mobile/)).slice(0, 3), ["Mobile", "4", "0"]);
    assert.deepEqual((await row(/^Desktop/)).slice(0, 3), ["Desktop", "2", "1"]);
    const choices = page.getByRole("radiogroup", { name: "Break down by" });
    await choices.getByText("Channel", { exact: true }).click();
    await page.getByRole("row", { name: /^Other channels/ }).waitFor();
    assert.deepEqual((await row(/^Onsite/)).slice(0, 3), ["Onsite", "6", "0"]);
    await inEach(page, views, async ({ name }) => {
      await choices.scrollIntoViewIfNeeded();
      await screenshot(page, `${name}-breakdown`);
      if (name !== "narrow") await checkAccessibility(page, "breakdown");
    });
    await page.setViewportSize(views[0]);
    await choices.getByText("Keyword", { exact: true }).click();
    await page.getByRole("row", { name: /^No keyword/ }).waitFor();

    await window.go("/reports?by=format&range=7");
    await page.getByRole("row", { name: /^Listing/ }).waitFor();
    await page.getByRole("row", { name: /^Banner/ }).waitFor();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download CSV" }).click();
    assert.equal((await download).suggestedFilename(), "report-format.csv");
    await demo.api("DELETE", `/campaign-service/campaigns/${campaignId}`);
    await window.close();
  });
}
