// A marketplace with many campaigns: the list stays usable, because the node pages and filters it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openPage, settled, signedOutNotice, signIn } from "./browser.mjs";
import { startNode } from "./node.mjs";

// 20,000 take a minute and a half to fill, 100,000 take many: GAVEL_CONSOLE_CAMPAIGNS=100000.
const campaigns = Number(process.env.GAVEL_CONSOLE_CAMPAIGNS ?? 5_000);
const pageSize = 25;
const answerMax = 200_000; // Bytes of one page of the list.

export function manyTests(given) {
  test(`${campaigns.toLocaleString("en-US")} campaigns are paged and filtered by the node`, async () => {
    const node = await startNode("demo", {
      flags: ["--campaigns", String(campaigns), "--products", String(campaigns), "--vendors", "200", "--shoppers", "0", "--history-days", "0"],
    });
    try {
      const window = await openPage(given.browser, node.origin, { expected: [signedOutNotice] });
      const { page } = window;
      await signIn(window);
      const asked = [];
      page.on("response", async (response) => {
        if (!response.url().includes("/campaign-service/campaigns?")) return;
        const query = new URL(response.url()).searchParams;
        asked.push({ query, bytes: (await response.body().catch(() => "")).length });
      });
      const rows = page.getByRole("region", { name: "Campaigns" }).getByRole("row");
      const names = () => page.getByRole("table").getByRole("link").allInnerTexts();
      await window.go("/campaigns");
      await settled(page);
      assert.equal(await rows.count(), pageSize + 1, "the head and one page");
      const first = await names();
      await page.getByRole("button", { name: "Next" }).click();
      await page.getByText("Page 2", { exact: true }).waitFor();
      await page.waitForFunction((name) => !document.querySelector("table")?.textContent.includes(name), first[0]);
      assert.equal(await rows.count(), pageSize + 1);
      assert.notDeepEqual(await names(), first);

      // Far down the list, and the answer of a filter, are one page of the node's, too.
      const last = Math.floor((campaigns - 1) / pageSize);
      await window.go(`/campaigns?page=${last}`);
      await settled(page);
      await page.getByText(`Page ${last}`, { exact: true }).waitFor();
      assert.equal(await rows.count(), pageSize + 1);
      await window.go("/campaigns");
      await settled(page);
      await page.getByLabel("Vendor").fill("v10");
      await page.waitForFunction(() => {
        const links = [...document.querySelectorAll("table a[href*='/vendors/']")].map((link) => link.textContent);
        return links.length > 0 && links.every((vendor) => vendor === "v10");
      });
      assert.equal(await rows.count(), pageSize + 1);

      const lists = asked.filter(({ query }) => query.has("offset"));
      assert.ok(lists.some(({ query }) => query.get("vendor_id") === "v10"), "the node filters");
      assert.ok(lists.some(({ query }) => query.get("offset") === String((last - 1) * pageSize)), "the node pages");
      for (const { query, bytes } of lists) {
        assert.equal(query.get("limit"), String(pageSize), String(query));
        assert.ok(bytes < answerMax, `${query}: ${bytes} bytes`);
      }
      await window.close();
    } finally {
      await node.remove();
    }
  });
}
