// The inspector explains auctions, and a campaign that is paused on its page loses as paused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAccessibility, openPage, screenshot, settled, signedOutNotice, signIn } from "./browser.mjs";

export function auctionTests(given) {
  test("the playground explains winners and losers, and a paused campaign", async () => {
    const { browser, demo, shop } = given;
    const body = JSON.stringify({ auctions: [{ type: "listings", slots: 1, products: { ids: [shop.product] } }] });
    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
    const { page } = window;
    await signIn(window);

    const explain = async () => {
      await window.go("/playground");
      await settled(page);
      await page.getByLabel("Body of POST /v2/auctions").fill(body);
      await page.getByRole("button", { name: "Run and explain" }).click();
      await page.getByRole("heading", { name: "listings", level: 2 }).waitFor();
    };
    await explain();
    assert.ok((await page.getByText("Rank 1", { exact: true }).count()) > 0, "somebody wins");
    assert.equal(await page.getByRole("tab", { name: "Paused" }).count(), 0);
    await page.getByRole("button", { name: "Numbers" }).first().click();
    await page.getByText("Competes with", { exact: true }).waitFor();

    await window.go(`/campaigns/${shop.campaignId}`);
    await settled(page);
    await page.getByRole("switch", { name: "Active" }).click();
    await page.getByText("paused", { exact: true }).first().waitFor();
    await explain();
    await page.getByRole("tab", { name: "Paused" }).click();
    await page.getByText("The campaign or the bid is switched off", { exact: false }).first().waitFor();

    await window.go(`/campaigns/${shop.campaignId}`);
    await settled(page);
    await page.getByRole("switch", { name: "Active" }).click();
    await page.getByText("active", { exact: true }).first().waitFor();
    await window.close();
  });

  test("live auctions show requests as they come, and the inspector explains one", async () => {
    const { browser, demo, shop } = given;
    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
    const { page } = window;
    await signIn(window);
    await window.go("/live");
    await page
      .getByRole("button", { name: /^Inspect the request/ })
      .first()
      .waitFor(); // The demo's shoppers browse.
    // What a shopper asks for may have no winner now, so an own request is inspected, when the list rests.
    let asked = 0;
    const ask = () => demo.auction(demo.keys().auctionKey, [shop.product], `of-the-test-${asked++}`);
    const asking = setInterval(ask, 500);
    try {
      await page.getByRole("button", { name: /^Inspect the request of-the-test/ }).first().waitFor();
      await page.getByRole("button", { name: "Pause" }).click();
    } finally {
      clearInterval(asking);
    }
    await page.getByRole("textbox", { name: "Slot or placement" }).fill("of no request");
    await page.getByRole("heading", { name: "No request fits the filter" }).waitFor();
    await page.getByRole("textbox", { name: "Slot or placement" }).fill("");
    await page.getByRole("button", { name: /^Inspect the request of-the-test/ }).first().click();
    await page.getByRole("button", { name: "Explain with the market of now" }).click();
    await page
      .getByText(/\d+ of \d+ slots filled/)
      .first()
      .waitFor();
    await page.getByText("Rank 1", { exact: true }).first().waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByRole("img", { name: "Auctions per second of the last two minutes" }).waitFor();
    await screenshot(page, "light-live-requests");
    await window.close();
  });

  test("the inspector shows the click of an ad and what it was charged", async () => {
    const { browser, demo, shop } = given;
    const key = demo.keys().auctionKey;
    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
    const { page } = window;
    await signIn(window);
    await window.go("/live");
    const tokens = new Map();
    const ask = async () => {
      const requestId = `to-be-clicked-${tokens.size}`;
      tokens.set(requestId, undefined);
      const { results } = await (await demo.auction(key, [shop.product], requestId)).json();
      tokens.set(requestId, results[0].winners[0].resolvedBidId);
    };
    const asking = setInterval(ask, 500);
    const inspect = page.getByRole("button", { name: /^Inspect the request to-be-clicked/ }).first();
    try {
      await inspect.waitFor();
      await page.getByRole("button", { name: "Pause" }).click();
    } finally {
      clearInterval(asking);
    }
    const requestId = (await inspect.getAttribute("aria-label")).split(" ").at(-1);
    await inspect.click();
    await page.getByRole("button", { name: `Events and charge of product ${shop.product}` }).click();
    await page.getByText(/^Nothing is charged yet: the first click within 7 days/).waitFor();
    const answer = await fetch(`${demo.auctions}/v2/events`, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}` },
      body: JSON.stringify({
        clicks: [
          {
            id: `click-of-${requestId}`,
            opaqueUserId: "carla",
            occurredAt: new Date().toISOString(),
            resolvedBidId: tokens.get(requestId),
          },
        ],
      }),
    });
    assert.equal(answer.status, 200);
    await page.getByText(/^Charged €[\d.]+ for the click, /).waitFor();
    await page.getByRole("textbox", { name: "Customer" }).fill("carla");
    await page.keyboard.press("Enter");
    await page.getByText("decided the charge", { exact: true }).waitFor();
    await checkAccessibility(page, "events and charge");
    await screenshot(page, "light-events-and-charge");
    await window.close();
  });

  test("an amount that is not one is refused before it is sent", async () => {
    const { browser, demo } = given;
    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
    const { page } = window;
    await signIn(window);
    await window.go("/campaigns");
    await settled(page);
    await page.getByRole("table").getByRole("link").first().click();
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel(/^Budget \(/).fill("12.345");
    await page.getByText("An amount with at most 2 decimals").waitFor();
    await page.getByLabel(/^Budget \(/).fill("77.77");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("€77.77", { exact: false }).first().waitFor();
    const id = new URL(page.url()).pathname.split("/").at(-1);
    assert.equal((await demo.api("GET", `/campaign-service/campaigns/${id}`)).budget.amount, 7777);
    await window.close();
  });
}
