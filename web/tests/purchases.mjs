// A purchase that a click led to: the page shows the click, the credited item and the rule.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAccessibility, openPage, screenshot, settled, signedOutNotice, signIn } from "./browser.mjs";

export function purchaseTests(given) {
  test("a purchase shows the clicks before it and what was credited", async () => {
    const { browser, demo, shop } = given;
    const key = demo.keys().auctionKey;
    const answer = await demo.auction(key, [shop.product]);
    const [winner] = (await answer.json()).results[0].winners;
    const send = (events) =>
      fetch(`${demo.auctions}/v2/events`, {
        method: "POST",
        headers: { Authorization: `Bearer ${key}` },
        body: JSON.stringify(events),
      });
    const by = { opaqueUserId: "paula", occurredAt: new Date().toISOString() };
    assert.equal((await send({ clicks: [{ id: "click-of-paula", resolvedBidId: winner.resolvedBidId, ...by }] })).status, 200);
    const items = [
      { productId: winner.id, quantity: 2, unitPrice: 12.5 },
      { productId: "sold-without-an-ad", quantity: 1, unitPrice: 3 },
    ];
    by.occurredAt = new Date().toISOString();
    assert.equal((await send({ purchases: [{ id: "order 1/paula", items, ...by }] })).status, 200);

    for (const scheme of ["light", "dark"]) {
      const window = await openPage(browser, demo.origin, { scheme, expected: [signedOutNotice, "404"] });
      const { page } = window;
      await signIn(window);
      await page.getByRole("link", { name: "Purchases" }).click();
      await page.getByRole("textbox", { name: "Purchase" }).fill("order 2");
      await page.keyboard.press("Enter");
      await page.getByText("This purchase is not known").waitFor();
      await page.getByRole("textbox", { name: "Purchase" }).fill("order 1/paula");
      await page.getByRole("textbox", { name: "Customer" }).fill("paula");
      await page.keyboard.press("Enter");
      await page.getByText("item 1", { exact: true }).waitFor({ timeout: 60_000 });
      await page.getByText("same product or brand").waitFor();
      assert.equal(await page.getByText("item 2", { exact: true }).count(), 0);
      await settled(page);
      await page.mouse.move(700, 850); // Off the link, whose colours differ under the mouse.
      await screenshot(page, `${scheme}-purchase`);
      await checkAccessibility(page, "purchase");
      await page.reload(); // The address of the page does not name the customer, and neither does what is stored.
      await page.getByText("same product or brand").waitFor();
      await page.getByText("The customer is not known").waitFor();
      await page.getByRole("button", { name: "Newest purchases" }).click();
      const rows = page.getByRole("region", { name: "Newest purchases" }).getByRole("row");
      await rows.nth(1).getByRole("link").waitFor(); // The campaign that it was credited to, by its name.
      assert.match(await rows.nth(1).innerText(), /\d/);
      await screenshot(page, `${scheme}-newest-purchases`);
      await checkAccessibility(page, "newest purchases");
      await rows.nth(1).getByRole("button").click();
      await page.getByText(/same product or brand|same vendor/).first().waitFor();
      assert.match(page.url(), /\?key=[0-9a-f]{32}$/);
      await window.close();
    }
  });
}
