// A campaign with a holdout: it is set in the dialog, and the page shows what the node's comparison says.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { checkAccessibility, openPage, screenshot, settled, signedOutNotice, signIn } from "./browser.mjs";
import { buyInBoth, percent } from "./groups.mjs";
import { signInAs } from "./invitations.mjs";
import { openCampaign, until } from "./node.mjs";
import { inEach, views } from "./views.mjs";

const product = "measured-product";
const users = Array.from({ length: 160 }, (_, i) => `measured-user-${i}`);
const buyersEach = { shown: 60, heldOut: 40 }; // Of a group; an interval needs 30.

// checkVendorSees opens the campaign as an analyst of its vendor, who sees the comparison and can change nothing.
async function checkVendorSees({ browser, demo, shop }, campaignId, report) {
  const window = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
  const { page } = window;
  await signInAs(window, demo, "vendor_analyst", "measures@example.com", shop.vendor);
  await window.go(`/campaigns/${campaignId}`);
  await settled(page);
  await page.getByRole("heading", { name: /Incrementality/ }).waitFor();
  await page.getByText(report.conclusion).waitFor();
  const buyers = page.getByRole("region", { name: "Users who see the campaign and those held out" }).getByRole("row", { name: /^Buyers/ });
  assert.match(await buyers.innerText(), new RegExp(`^Buyers\\s+${report.shown.buyers} .*\\s${report.heldOut.buyers} `));
  assert.deepEqual(await page.getByRole("alert").allInnerTexts(), []);
  assert.equal(await page.getByRole("button", { name: "Edit", exact: true }).count(), 0);
  await window.close();
}

export function incrementalityTests(given) {
  test("a holdout is set in the dialog, and the campaign shows its incrementality", async () => {
    const { browser, demo, shop } = given;
    const { campaignId } = await openCampaign(demo, shop.vendor, product, "Measured");
    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
    const { page } = window;
    await signIn(window);
    await window.go(`/campaigns/${campaignId}`);
    await settled(page);
    assert.equal(await page.getByRole("heading", { name: /Incrementality/ }).count(), 0, "without a holdout");

    await page.getByRole("button", { name: "Edit", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Edit the campaign" });
    const save = dialog.getByRole("button", { name: "Save" });
    for (const wrong of ["51", "2.5", "-1", ""]) {
      await dialog.getByLabel("Holdout").fill(wrong);
      await save.click();
      await dialog.getByText("A whole number from 0 to 50").waitFor();
    }
    await checkAccessibility(page, "the dialog of a campaign");
    await dialog.getByLabel("Holdout").fill("50");
    await screenshot(page, "light-edit-campaign");
    await save.click();
    await dialog.waitFor({ state: "detached" });
    await page.getByText("50 % of users never see it").waitFor();
    await page.getByText("The sample is too small for a conclusion").waitFor();
    await page.getByText("those held out have bought nothing").first().waitFor();

    let lost;
    await until(() => `the holdout is in force: ${JSON.stringify(lost)}`, async () => {
      const auction = { type: "listings", slots: 1, products: { ids: [product] }, opaqueUserId: `other-${Math.random()}` };
      lost = (await demo.explain(auction)).lost;
      return lost.holdout > 0;
    });
    const [shown, heldOut] = await buyInBoth(demo, product, users, [buyersEach.shown, buyersEach.heldOut]);
    const dayFromNow = (days) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    const dates = `start_date=${dayFromNow(-1)}&end_date=${dayFromNow(1)}`; // Today, whatever the time zone.
    let report;
    await until(() => `the buyers are counted: ${JSON.stringify(report)}`, async () => {
      await sleep(500);
      report = await demo.api("GET", `/reporting-service/campaigns/${campaignId}/incrementality?${dates}`);
      return report.shown.buyers === buyersEach.shown && report.heldOut.buyers === buyersEach.heldOut;
    });
    assert.equal(report.shown.users, shown.length);
    assert.equal(report.heldOut.users, heldOut.length);

    await page.reload();
    await settled(page);
    const table = page.getByRole("region", { name: "Users who see the campaign and those held out" });
    const row = async (name) => (await table.getByRole("row", { name }).innerText()).split("\t").slice(1);
    assert.deepEqual(await row(/^Users \d/), [report.shown.users, report.heldOut.users].map(String));
    assert.deepEqual(
      await row(/^Buyers/),
      [report.shown, report.heldOut].map(({ buyers, users }) => `${buyers} (${Number(((buyers / users) * 100).toFixed(2))}%)`),
    );
    assert.deepEqual(await row(/^Purchases/), [report.shown.purchases, report.heldOut.purchases].map(String));
    assert.deepEqual(await row(/^Sales/), [report.shown, report.heldOut].map(({ amount }) => `€${(amount / 100).toFixed(2)}`));
    await page.getByText(report.conclusion).waitFor();
    for (const { percent: lift, from, to } of [report.buyersLift, report.amountLift]) {
      await page.getByText(percent(lift), { exact: true }).first().waitFor();
      await page.getByText(`95 % confidence: ${percent(from)} to ${percent(to)}`).first().waitFor();
    }
    await page.getByText(`they are not over for ${report.openUsers} users`).waitFor();
    await inEach(page, views, async ({ name, width }) => {
      await screenshot(page, `${name}-incrementality`);
      const cell = await table.getByRole("columnheader", { name: "Held out" }).boundingBox();
      assert.ok(cell.x + cell.width <= width, `both groups are seen beside each other, ${name}`);
      if (name !== "narrow") await checkAccessibility(page, "incrementality");
    });
    await checkVendorSees(given, campaignId, report);
    const unknown = { percent: -3.5, from: null, to: null }; // An answer of the test, which needs more users than a test has.
    await page.route("**/incrementality?*", (route) =>
      route.fulfill({ json: { ...report, buyersLift: unknown, incomplete: true, openUsers: 0 } }),
    );
    await page.setViewportSize(views[0]);
    await page.reload();
    await page.getByText("On some day there were more users than a group of nodes stores.").waitFor();
    await page.getByText("-3.5%", { exact: true }).waitFor();
    await page.getByText("no interval: it needs 30 buyers in each group").waitFor();
    assert.equal(await page.getByText("they are not over for").count(), 0);
    await checkAccessibility(page, "an incomplete comparison");
    await demo.api("DELETE", `/campaign-service/campaigns/${campaignId}`);
    await window.close();
  });
}
