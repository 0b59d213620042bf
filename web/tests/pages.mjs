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

// check fails for what is too wide or not accessible, and keeps a picture.
async function check(page, view, where, picture) {
  await checkWidth(page, where);
  await screenshot(page, `${view.name}-${picture}`);
  if (view.name !== "narrow") await checkAccessibility(page, where);
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

  test("every page, light, dark and narrow", async () => {
    await showEach(given.browser, given.demo, views, async ({ page, faults }, row, address, view) => {
      const where = `${view.name} ${address}`;
      assert.equal(
        await page.getByRole("alert").count(),
        0,
        `${where} shows a failure: ${await page.getByRole("alert").allInnerTexts()}`,
      );
      if (row.tab) assert.equal(await page.getByRole("tab", { selected: true }).count(), 1, `${where} shows no tab`);
      if (row.page !== "*") assert.equal(await page.getByText("No such page").count(), 0, where);
      await check(page, view, where, nameOf(row));
      assert.deepEqual(faults, [], where);
    });
  });

  test("every dialog, light, dark and narrow", async () => {
    await showDialogs(given.browser, given.demo, views, async ({ page, faults }, button, view) => {
      await check(page, view, `${view.name}, ${button}`, `dialog-${button.replaceAll(" ", "-")}`);
      assert.deepEqual(faults, [], button);
    });
  });

  test("what is shown without a session, light, dark and narrow", async () => {
    await showEntrances(given.browser, given.demo, views, async ({ page, faults }, { path }, view) => {
      const name = `without-session${path.replaceAll(/[^a-z0-9]+/gi, "-")}`;
      await check(page, view, `${view.name}, without a session ${path}`, name);
      assert.deepEqual(faults, [], path);
    });
  });
}
