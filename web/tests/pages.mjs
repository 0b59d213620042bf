// Every page, as an admin: it opens without a message, is accessible in light and dark, and fits a narrow screen.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAccessibility, screenshot } from "./browser.mjs";
import { listed, nameOf, rows, showDialogs, showEach, showEntrances, views } from "./views.mjs";

// checkWidth fails for what is wider than the screen.
async function checkWidth(page, where) {
  const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  assert.ok(content <= screen, `${where} is ${content} pixels wide on a screen of ${screen}`);
}

export function pageTests(given) {
  test("every page of the console has a row, and every tab", () => {
    const pages = listed();
    assert.ok(pages.length > 20 && pages.some(({ tabs }) => tabs.length > 0), "pages.ts is read");
    for (const { page, tabs } of pages)
      for (const tab of [undefined, ...tabs])
        assert.ok(
          rows.some((row) => row.page === page && row.tab === tab),
          `add a row for ${page} ${tab ? `with the tab ${tab} ` : ""}to tests/views.mjs`,
        );
    for (const { page } of rows)
      assert.ok(page === "*" || pages.some((known) => known.page === page), `${page} is no page of the console`);
  });

  for (const view of views) {
    test(`every page, ${view.name}`, async () => {
      await showEach(given.browser, given.demo, view, async ({ page, faults }, row, address) => {
        assert.equal(
          await page.getByRole("alert").count(),
          0,
          `${address} shows a failure: ${await page.getByRole("alert").allInnerTexts()}`,
        );
        if (row.tab) assert.equal(await page.getByRole("tab", { selected: true }).count(), 1, `${address} shows no tab`);
        if (row.page !== "*") assert.equal(await page.getByText("No such page").count(), 0, address);
        await checkWidth(page, address);
        await screenshot(page, `${view.name}-${nameOf(row)}`);
        if (view.name !== "narrow") await checkAccessibility(page, `${view.name} ${address}`);
        assert.deepEqual(faults, [], address);
      });
    });

    test(`every dialog, ${view.name}`, async () => {
      await showDialogs(given.browser, given.demo, view, async ({ page, faults }, button) => {
        await checkWidth(page, button);
        await screenshot(page, `${view.name}-dialog-${button.replaceAll(" ", "-")}`);
        if (view.name !== "narrow") await checkAccessibility(page, `${view.name}, ${button}`);
        assert.deepEqual(faults, [], button);
      });
    });

    test(`what is shown without a session, ${view.name}`, async () => {
      await showEntrances(given.browser, given.demo, view, async ({ page, faults }, { path }) => {
        await checkWidth(page, path);
        await screenshot(page, `${view.name}-without-session${path.replaceAll(/[^a-z0-9]+/gi, "-")}`);
        if (view.name !== "narrow") await checkAccessibility(page, `${view.name}, without a session ${path}`);
        assert.deepEqual(faults, [], path);
      });
    });
  }
}
