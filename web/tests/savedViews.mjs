// Filters are saved under a name, opened again, sent as an address, and deleted; a full or broken storage gives a message.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAccessibility, openPage, settled, signedOutNotice, signIn } from "./browser.mjs";

export function savedViewTests(given) {
  test("filters are saved under a name and opened again, and a full storage gives a message", async () => {
    const { browser, demo, shop } = given;
    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
    const { page } = window;
    await signIn(window);
    await window.go(`/campaigns?vendor=${shop.vendor}&status=approved&page=2`);
    await settled(page);
    const dialog = page.getByRole("dialog", { name: "Saved views" });
    const save = async (name) => {
      await dialog.getByLabel("Name").fill(name);
      await dialog.getByRole("button", { name: "Save", exact: true }).click();
    };
    await page.getByRole("button", { name: "Views", exact: true }).click();
    await save("Of the <b>shop</b>");
    const link = dialog.getByRole("link", { name: "Of the <b>shop</b>" });
    await link.waitFor();
    await checkAccessibility(page, "saved views");
    await dialog.getByRole("button", { name: "Copy the link of this view" }).click();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), page.url());

    await window.go("/campaigns");
    await page.getByRole("button", { name: "Views", exact: true }).click();
    await link.click();
    await page.waitForURL(`**/campaigns?vendor=${shop.vendor}&status=approved`); // Without the page.
    assert.equal(await page.getByLabel("Vendor").inputValue(), shop.vendor);
    await page.getByRole("link", { name: "Own campaign" }).first().waitFor();

    const list = await page.evaluate(() => Object.keys(localStorage).find((key) => key.startsWith("gavel.views.")));
    const many = Array.from({ length: 20 }, (_, at) => ({ name: `view ${at}`, query: "" }));
    await page.evaluate(([key, text]) => localStorage.setItem(key, text), [list, JSON.stringify([...many, 7, { name: "x" }])]);
    await page.getByRole("button", { name: "Views", exact: true }).click();
    await save("one too many");
    await dialog.getByRole("alert").getByText("There are 20 views").waitFor();
    await dialog.getByRole("button", { name: "Delete the view view 3", exact: true }).click();
    await dialog.getByRole("link", { name: "view 3", exact: true }).waitFor({ state: "detached" });
    await page.evaluate(() => {
      Storage.prototype.setItem = () => {
        throw new DOMException("full", "QuotaExceededError");
      };
    });
    await save("not stored");
    await dialog.getByRole("alert").getByText("The browser did not store the view").waitFor();
    assert.equal(await dialog.getByRole("link", { name: "not stored" }).count(), 0);

    await page.evaluate((key) => localStorage.removeItem(key), list);
    await window.go("/reports?by=vendor&range=7");
    await page.getByRole("button", { name: "Views", exact: true }).click();
    await save("Vendors of a week");
    await dialog.getByRole("link", { name: "Vendors of a week" }).waitFor();
    await window.go("/campaigns");
    await page.getByRole("button", { name: "Views", exact: true }).click();
    await dialog.getByText("None yet.").waitFor(); // Each list has its own.
    await window.close();
  });
}
