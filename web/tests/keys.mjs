// A key is made by keyboard alone, runs an auction, and is refused after it was revoked.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { checkAccessibility, openPage, settled, signedOutNotice } from "./browser.mjs";
import { admin } from "./node.mjs";

const tabsMax = 60; // So many presses of Tab reach every element of the page.

// tabTo presses Tab until the focused element has the name.
async function tabTo(page, name) {
  for (let press = 0; press < tabsMax; press++) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(
      () => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent?.trim(),
    );
    if (focused === name) return;
  }
  assert.fail(`Tab does not reach ${name}`);
}

export function keyTests(given) {
  test("a key is created by keyboard from the sign-in on, runs an auction and is revoked", async () => {
    const { browser, demo } = given;
    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
    const { page } = window;
    await window.go("/");
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.waitForFunction(() => document.activeElement?.getAttribute("type") === "email"); // It has the focus.
    await page.keyboard.type(admin.email);
    await page.keyboard.press("Tab");
    await page.keyboard.type(admin.password);
    await page.keyboard.press("Enter");
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    await tabTo(page, "API keys");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "API keys", level: 1 }).waitFor();
    await settled(page);

    await tabTo(page, "Create key");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Create a key" }).waitFor();
    await page.waitForFunction(() => document.activeElement?.tagName === "INPUT"); // The first field has the focus.
    await page.keyboard.type("storefront <b>test</b>");
    await checkAccessibility(page, "create a key");
    await page.keyboard.press("Enter");
    const secret = page.getByRole("dialog", { name: "Copy the key now" }).getByRole("textbox");
    await secret.waitFor();
    const key = await secret.inputValue();
    assert.match(key, /^gavel_auc_/);
    await tabTo(page, "Copy");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), key);
    await tabTo(page, "I have copied the key");
    await page.keyboard.press("Enter");
    await secret.waitFor({ state: "detached" });

    const products = [given.shop.product];
    const answer = await (await demo.auction(key, products)).json();
    assert.equal(answer.results[0].winners.length, 1, JSON.stringify(answer));

    await page.getByRole("button", { name: "Rotate storefront <b>test</b>" }).click();
    const rotation = page.getByRole("dialog", { name: "Rotate storefront <b>test</b>" });
    await checkAccessibility(page, "rotate a key");
    await rotation.getByRole("button", { name: "Rotate" }).click();
    await secret.waitFor();
    const next = await secret.inputValue();
    assert.match(next, /^gavel_auc_/);
    assert.notEqual(next, key);
    await page.getByRole("button", { name: "I have copied the key" }).click();
    await secret.waitFor({ state: "detached" });
    for (const accepted of [key, next]) assert.equal((await demo.auction(accepted, products)).status, 201);
    await page.reload();
    const rows = page.getByRole("row", { name: /storefront <b>test<\/b>/ });
    await rows.nth(1).waitFor();
    assert.match(await rows.nth(0).innerText(), /1 \(0 yesterday\)[^]*never/); // The new key.
    assert.match(await rows.nth(1).innerText(), /2 \(0 yesterday\)/);
    assert.doesNotMatch(await rows.nth(1).innerText(), /never/); // The old one ends by itself.
    await page.getByRole("button", { name: "Revoke storefront <b>test</b>" }).nth(1).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await sleep(1_000); // Every node refuses a revoked key within a second.
    assert.equal((await demo.auction(key, products)).status, 401);
    assert.equal((await demo.auction(next, products)).status, 201);
    await page.getByRole("button", { name: "Rotate storefront <b>test</b>" }).click();
    await rotation.getByLabel("The old key works for").click();
    await page.getByRole("option", { name: "no longer" }).click();
    await rotation.getByRole("button", { name: "Rotate" }).click();
    await secret.waitFor();
    const last = await secret.inputValue();
    await sleep(1_000);
    assert.equal((await demo.auction(next, products)).status, 401);
    assert.equal((await demo.auction(last, products)).status, 201);
    await window.close();
  });
}
