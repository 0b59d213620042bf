// The log of the node: its newest records, a filter, and new records without a reload.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAccessibility, openPage, screenshot, settled, signedOutNotice, signIn } from "./browser.mjs";
import { startNode } from "./node.mjs";

export function logTests(given) {
  test("an admin reads the log of the node as it is written", async () => {
    const node = await startNode("serve", { flags: ["--log-access", "1"] });
    try {
      for (const scheme of ["light", "dark"]) {
        const window = await openPage(given.browser, node.origin, { scheme, expected: [signedOutNotice] });
        const { page } = window;
        await signIn(window);
        await page.getByRole("link", { name: "Log", exact: true }).click();
        const records = page.getByRole("region", { name: "Records of the log" });
        await node.auction(node.keys().auctionKey, ["p1"]);
        await records.getByRole("cell", { name: "request", exact: true }).first().waitFor();
        await page.getByRole("textbox", { name: "Text" }).fill(`asked-in-${scheme}`);
        await page.keyboard.press("Enter");
        await page.getByRole("heading", { name: "No record fits" }).waitFor();
        await node.auction(node.keys().auctionKey, ["p1"], `asked-in-${scheme}`);
        await records.getByText(`asked-in-${scheme}`).waitFor();
        assert.equal(await records.getByRole("row").count(), 2, "the head and one record");
        await settled(page);
        await page.mouse.move(700, 850); // Off the link, whose colours differ under the mouse.
        await screenshot(page, `${scheme}-log-record`);
        await checkAccessibility(page, `${scheme} log`);
        await page.getByRole("combobox", { name: "Level" }).or(page.getByLabel("Level", { exact: true })).first().click();
        await page.getByRole("option", { name: "Errors", exact: true }).click();
        await page.getByRole("heading", { name: "No record fits" }).waitFor();
        await window.close();
      }
    } finally {
      await node.remove();
    }
  });
}
