// Events are shown as they are reported: recorded, duplicate, and refused with the reason.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAccessibility, openPage, screenshot, settled, signedOutNotice, signIn } from "./browser.mjs";

export function eventTests(given) {
  test("events are shown as they are reported, and why a request was refused", async () => {
    const { browser, demo } = given;
    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
    const { page } = window;
    await signIn(window);
    await window.go("/events");
    await settled(page);
    let sent = 0;
    // Others report, too, and the page shows a sample, so each request is sent until it is shown.
    const shown = async (id, view) => {
      const send = () =>
        fetch(`${demo.auctions}/v2/events`, {
          method: "POST",
          headers: { Authorization: `Bearer ${demo.keys().auctionKey}`, "X-Request-Id": `${id}-${sent++}` },
          body: JSON.stringify({ pageviews: [view] }),
        });
      const sending = setInterval(send, 500);
      try {
        await page.getByRole("button", { name: new RegExp(`^Inspect the request ${id}`) }).first().waitFor();
      } finally {
        clearInterval(sending);
      }
    };
    const view = { id: "of-the-test", opaqueUserId: "secret-user", occurredAt: new Date().toISOString(), page: { type: "home" } };
    await page.getByRole("switch", { name: /^Only what was not recorded/ }).click();
    await shown("twice", view);
    await shown("refused", { opaqueUserId: "secret-user" });
    await page.getByRole("heading", { name: "Why requests were refused" }).waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await screenshot(page, "light-events-reported");
    await checkAccessibility(page, "events");
    await page.getByRole("button", { name: /^Inspect the request refused/ }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Refused", { exact: true }).waitFor();
    await dialog.getByText("(masked)", { exact: false }).waitFor();
    assert.ok(!(await page.locator("body").innerText()).includes("secret-user"));
    await checkAccessibility(page, "a refused request");
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByRole("button", { name: /^Inspect the request twice/ }).first().click();
    await dialog.getByText("duplicate", { exact: true }).waitFor();
    await dialog.getByText("page view", { exact: true }).waitFor();
    await window.close();
  });
}
