// An experiment is started, measured and ended on its page, and the page shows what the node says.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { checkAccessibility, openPage, screenshot, settled, signedOutNotice, signIn } from "./browser.mjs";
import { buyInBoth, percent } from "./groups.mjs";
import { signInAs } from "./invitations.mjs";
import { openCampaign, until } from "./node.mjs";
import { inEach, views } from "./views.mjs";

const product = "tried-product";
const users = Array.from({ length: 160 }, (_, i) => `tried-user-${i}`);
const buyersEach = { treated: 35, compared: 50 }; // Of a group; an interval needs 30.

export function experimentTests(given) {
  test("an experiment without ads is started, measured and ended", async () => {
    const { browser, demo, shop } = given;
    const { campaignId } = await openCampaign(demo, shop.vendor, product, "Tried");
    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
    const { page } = window;
    await signIn(window);
    await window.go("/settings?tab=experiment");
    await page.getByText("There has been no experiment yet.").waitFor();
    await checkAccessibility(page, "the form of an experiment");
    await page.getByRole("combobox", { name: "What is changed for them" }).click();
    await page.getByRole("option", { name: "Other reserve prices" }).click();
    await page.getByLabel("Factor of all reserve prices").waitFor();
    await page.getByRole("combobox", { name: "What is changed for them" }).click();
    await page.getByRole("option", { name: "No ads: what do all ads add?" }).click();
    assert.equal(await page.getByLabel("Factor of all reserve prices").count(), 0);
    await page.getByLabel("Name").fill("Without ads");
    await page.getByLabel("Share of the users in percent").fill("50");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByText("No ads for 50 % of the users").waitFor();
    await page.getByText("The sample is too small for a conclusion").waitFor();

    let lost;
    await until(() => `the experiment is in force: ${JSON.stringify(lost)}`, async () => {
      const auction = { type: "listings", slots: 1, products: { ids: [product] }, opaqueUserId: `other-${Math.random()}` };
      lost = (await demo.explain(auction)).lost;
      return lost.holdout > 0;
    });
    let report = await demo.api("GET", "/reporting-service/marketplace/experiment");
    // What was shown just before counts when it is seen after the start, so the impressions that are on their way are waited for.
    await until(() => `who is treated sees no ads any more: ${JSON.stringify(report)}`, async () => {
      const before = report;
      await sleep(2000);
      report = await demo.api("GET", "/reporting-service/marketplace/experiment");
      return report.groups[0].impressions === before.groups[0].impressions;
    });
    const seenBefore = report.groups[0].impressions;
    await buyInBoth(demo, product, users, [buyersEach.compared, buyersEach.treated]); // Who is treated sees no ads.
    await until(() => `the buyers are counted: ${JSON.stringify(report)}`, async () => {
      await sleep(500);
      report = await demo.api("GET", "/reporting-service/marketplace/experiment");
      return report.groups.every(({ group, buyers }) => buyers >= buyersEach[group]);
    });
    await page.getByRole("button", { name: "End the experiment" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "End the experiment" }).click();
    await page.getByRole("heading", { name: "Start an experiment" }).waitFor();
    // The demo's own shoppers may still be credited, so the page is compared with the answer that it has got.
    const answer = page.waitForResponse((response) => response.url().endsWith("/marketplace/experiment"));
    await page.reload();
    report = await (await answer).json();
    assert.ok(report.endedAt, "it has ended");
    await settled(page);
    const table = page.getByRole("region", { name: "Users whose auctions are changed and those they are compared with" });
    const row = async (name) => (await table.getByRole("row", { name }).innerText()).split("\t").slice(1);
    assert.deepEqual(await row(/^Buyers/), report.groups.map(({ buyers }) => String(buyers)));
    assert.deepEqual(await row(/^Clicks/), report.groups.map(({ clicks }) => String(clicks)));
    assert.equal(report.groups[0].impressions, seenBefore, "who is treated sees no ads");
    await page.getByText(report.conclusion).waitFor();
    const { percent: lift, from, to } = report.amountLift;
    await page.getByText(percent(lift), { exact: true }).first().waitFor();
    await page.getByText(`95 % confidence: ${percent(from)} to ${percent(to)}`).first().waitFor();
    await inEach(page, views, async ({ name, width }) => {
      await screenshot(page, `${name}-experiment`);
      const cell = await table.getByRole("columnheader", { name: "Compared" }).boundingBox();
      assert.ok(cell.x + cell.width <= width, `both groups are seen beside each other, ${name}`);
      if (name !== "narrow") await checkAccessibility(page, "an experiment");
    });
    await demo.api("DELETE", `/campaign-service/campaigns/${campaignId}`);
    await window.close();

    const analyst = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
    await signInAs(analyst, demo, "analyst", "tries@example.com");
    await analyst.go("/settings?tab=experiment");
    await analyst.page.getByRole("heading", { name: "Without ads" }).waitFor();
    await analyst.page.getByRole("row", { name: /^Buyers/ }).waitFor();
    assert.equal(await analyst.page.getByRole("button", { name: "Start", exact: true }).count(), 0);
    await analyst.close();
  });
}
