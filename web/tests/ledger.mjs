// What an admin does with money and people's data: a charge is reversed on the ledger page, a customer is erased, and the
// time for which clicks are kept is changed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAccessibility, openPage, screenshot, settled, signedOutNotice, signIn } from "./browser.mjs";

export function ledgerTests(given) {
  test("a charge is reversed with reason and note, and the ledger lists it", async () => {
    const { browser, demo, shop } = given;
    const key = demo.keys().auctionKey;
    const [winner] = (await (await demo.auction(key, [shop.product])).json()).results[0].winners;
    const { resolvedBidId } = winner;
    const click = { id: "click-to-reverse", opaqueUserId: "rita", occurredAt: new Date().toISOString(), resolvedBidId };
    const answer = await fetch(`${demo.auctions}/v2/events`, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}` },
      body: JSON.stringify({ clicks: [click] }),
    });
    assert.equal(answer.status, 200);
    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice, "409"] });
    const { page } = window;
    await signIn(window);
    await window.go(`/vendors/${shop.vendor}`);
    await settled(page);
    await page.getByRole("heading", { name: "Nothing was given back" }).waitFor();
    await page.getByRole("button", { name: "Reverse a charge" }).click();
    await page.getByRole("textbox", { name: "resolvedBidId" }).fill(resolvedBidId);
    await page.getByRole("textbox", { name: "Amount (EUR)" }).fill("1.234");
    await page.getByText("An amount above 0 with at most 2 decimals").waitFor();
    await page.getByRole("textbox", { name: "Amount (EUR)" }).fill("");
    await page.getByRole("textbox", { name: "Note" }).fill("a robot clicked");
    await checkAccessibility(page, "reverse a charge");
    await page.getByRole("dialog").getByRole("button", { name: "Reverse", exact: true }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const reversals = page.getByRole("region", { name: "Reversals of the wallet" });
    await reversals.getByText("a robot clicked").waitFor();
    await reversals.getByText("invalid traffic").waitFor();
    await screenshot(page, "light-reversals");
    await page.getByRole("button", { name: "Reverse a charge" }).click();
    await page.getByRole("textbox", { name: "resolvedBidId" }).fill(resolvedBidId);
    await page.keyboard.press("Enter");
    await page.getByText("more than was charged and not given back yet").waitFor();
    await window.close();
  });

  test("a customer is erased after a question, and clicks are kept for a shorter time", async () => {
    const { browser, demo } = given;
    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
    const { page } = window;
    await signIn(window);
    await window.go("/settings?tab=erase");
    await settled(page);
    await page.getByRole("textbox", { name: "Customer" }).fill("erika/1");
    await page.getByRole("button", { name: "Erase", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("What stays:").waitFor();
    await checkAccessibility(page, "erase a customer");
    await screenshot(page, "light-erase");
    await dialog.getByRole("button", { name: "Erase", exact: true }).click();
    await page.getByText("Erased on every node").waitFor();
    await window.go("/settings");
    await settled(page);
    await page.getByRole("textbox", { name: "Days that clicks and impressions are kept" }).fill("60");
    const saved = page.waitForResponse((response) => response.request().method() === "PATCH");
    await page.getByRole("button", { name: "Save" }).click();
    assert.equal((await saved).status(), 200);
    assert.equal((await demo.api("GET", "/marketplace-service/settings")).touchRetentionDays, 60);
    await window.close();
  });
}
