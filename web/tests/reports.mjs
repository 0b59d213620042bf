// A report is downloaded as CSV and as Parquet.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { openPage, settled, signedOutNotice, signIn } from "./browser.mjs";

export function reportTests(given) {
  test("the overview shows the last 24 hours, and its address keeps the range", async () => {
    const { browser, demo } = given;
    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
    const { page } = window;
    await signIn(window);
    await page.getByText("24 h", { exact: true }).click();
    await page.getByRole("heading", { name: "Spend and sales by hour" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "Spend and sales by hour" }).waitFor();
    await window.close();
  });

  test("reports name campaigns, vendors and products", async () => {
    const { browser, demo } = given;
    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
    const { page } = window;
    await signIn(window);
    for (const [by, name, row] of [
      ["campaign", /(spring push|search|brand|banners|hotels|flights)/, "link"],
      ["vendor", /(Supply|Trading|Goods)/, "link"],
      ["product", /^[A-Z][a-z]+ [A-Z]?[a-z]+/, "cell"],
    ]) {
      await window.go(`/reports?by=${by}`);
      await page.getByRole("table").getByRole(row, { name }).first().waitFor();
    }
    await window.close();
  });

  test("a campaign names its products, and shows its hours and days", async () => {
    const { browser, demo } = given;
    const { campaigns } = await demo.api("GET", "/campaign-service/campaigns?limit=100&ad_format=listing");
    const [one] = campaigns.sort((a, b) => (b.budget?.amountUsed ?? 0) - (a.budget?.amountUsed ?? 0));
    const { bids } = await demo.api("GET", `/campaign-service/campaigns/${one.campaignId}/bids?limit=20`);
    const bid = bids.find(({ target }) => target.type === "product");
    const { response } = await demo.api("GET", `/catalog-search-service/catalogs/products?ids=${bid.target.id}`);
    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
    const { page } = window;
    await signIn(window);
    await window.go(`/campaigns/${one.campaignId}?tab=bids`);
    await page.getByRole("cell", { name: response[0].name }).first().waitFor();
    await window.go(`/campaigns/${one.campaignId}`);
    await page.getByRole("heading", { name: "Products, 30 days" }).waitFor();
    await page.getByText("24 h", { exact: true }).click();
    await page.getByRole("heading", { name: "Spend by hour" }).waitFor();
    await page.getByText("This hour", { exact: true }).click();
    await page.getByRole("heading", { name: "Spend by hour" }).waitFor({ state: "detached" });
    await page.reload();
    await page.getByText(/hours of |No events in this range/).first().waitFor();
    await window.close();
  });

  test("a report is downloaded as CSV and as Parquet", async () => {
    const { browser, demo } = given;
    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
    const { page } = window;
    await signIn(window);
    await window.go("/reports");
    await settled(page);
    const saved = async (name) => {
      const download = page.waitForEvent("download");
      await page.getByRole("button", { name, exact: true }).click();
      return readFileSync(await (await download).path());
    };
    const lines = (await saved("Download CSV")).toString().trim().split("\r\n");
    assert.match(lines[0], /^day,impressions,clicks,spend [A-Z]{3},purchases,sales [A-Z]{3}$/);
    assert.ok(lines.slice(1).every((line) => /^\d{4}-\d\d-\d\d,\d+,\d+,\d+(\.\d+)?,\d+,\d+(\.\d+)?$/.test(line)), lines[1]);
    const file = await saved("Download Parquet");
    assert.equal(file.subarray(0, 4).toString(), "PAR1");
    assert.equal(file.subarray(-4).toString(), "PAR1");
    assert.ok(file.includes("clicks_total"), "the columns are named");
    await window.close();
  });
}
