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
