// An asset shows which slots and campaigns show it, and cannot be deleted while one does.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAccessibility, openPage, screenshot, settled, signedOutNotice, signIn } from "./browser.mjs";
import { inEach, views } from "./views.mjs";

const url = "https://images.example.com/shown.png";

// show adds an asset of a vendor, a slot whose fallback shows it, and a campaign with a bid that does.
async function show(demo, vendor) {
  const asset = await demo.api("POST", `/assets/asset?vendor_id=${vendor}`, { name: "Shown asset", externalUrl: url });
  const dimensions = { desktop: { width: 600, height: 150 } };
  await demo.api("POST", "/media-service/slots", { slotId: "slot-of-the-asset", position: "landing", dimensions });
  const banner = { url, width: 600, height: 150, contentType: "image/png", deviceType: "desktop" };
  await demo.api("PUT", "/media-service/slots/slot-of-the-asset/fallback", {
    results: [{ ...banner, destination: { destinationType: "vendor", destinationId: vendor } }],
  });
  const { campaignId } = await demo.api("POST", `/campaign-service/campaigns?vendor_id=${vendor}`, {
    name: "Campaign of the asset",
    campaignType: "manual",
    adFormat: "banner",
    bids: [
      {
        target: { type: "vendor", id: vendor },
        amount: 50,
        formatProperties: { adFormat: "banner", slotId: "slot-of-the-asset", bannerAssets: [{ assetId: asset.id }] },
      },
    ],
  });
  return { asset, campaignId };
}

export function assetTests(given) {
  test("an asset shows its uses, and a refused deletion names them", async () => {
    const { browser, demo, shop } = given;
    const { asset, campaignId } = await show(demo, shop.vendor);
    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice, "409"] });
    const { page } = window;
    await signIn(window);
    await window.go(`/assets?vendor=${shop.vendor}`);
    await settled(page);
    await page.getByRole("button", { name: "Uses of Shown asset" }).click();
    const uses = page.getByRole("dialog", { name: "Uses of Shown asset" });
    await uses.getByRole("link", { name: "slot-of-the-asset" }).waitFor();
    const listed = await demo.api("GET", `/assets/asset/${asset.id}/uses`);
    assert.deepEqual(listed.campaigns, [{ campaignId, name: "Campaign of the asset" }]);
    assert.equal(await uses.getByRole("row").count(), 1 + listed.slots.length + listed.campaigns.length);
    await inEach(page, views, async ({ name }) => {
      await screenshot(page, `${name}-asset-uses`);
      if (name !== "narrow") await checkAccessibility(page, "uses of an asset");
    });
    await page.setViewportSize(views[0]);
    await uses.getByRole("link", { name: "Campaign of the asset" }).click();
    await page.getByRole("heading", { name: "Campaign of the asset", level: 1 }).waitFor();

    await page.goBack();
    await page.getByRole("button", { name: "Delete Shown asset" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete Shown asset?" });
    const remove = dialog.getByRole("button", { name: "Delete" });
    await remove.click();
    const refusal = dialog.getByText(/^the asset is shown by /);
    await refusal.waitFor();
    const text = await refusal.innerText();
    assert.ok(text.includes('the fallback of slot "slot-of-the-asset"'), text);
    assert.ok(text.includes(`a bid of campaign "Campaign of the asset" (${campaignId})`), text);
    await checkAccessibility(page, "a refused deletion");
    await screenshot(page, "light-asset-refused");

    await demo.api("PUT", "/media-service/slots/slot-of-the-asset/fallback", { results: [] });
    await demo.api("DELETE", `/campaign-service/campaigns/${campaignId}`);
    await remove.click();
    await dialog.waitFor({ state: "detached" });
    await page.getByText("No asset fits the filter").waitFor();
    await window.close();
  });
}
