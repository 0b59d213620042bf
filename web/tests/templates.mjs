// A template shows its versions, how one differs from now, and brings it back as a new one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAccessibility, openPage, screenshot, settled, signedOutNotice, signIn } from "./browser.mjs";
import { inEach, views } from "./views.mjs";

export function templateTests(given) {
  test("a template shows its history, and an older version is compared and brought back", async () => {
    const { browser, demo } = given;
    const schemaOf = (headline) => ({ type: "object", properties: { [headline]: { type: "string" }, link: { type: "string" } } });
    const { id } = await demo.api("POST", "/campaign-service/json-templates", {
      name: "Template with a history",
      description: "First",
      jsonSchema: schemaOf("headline"),
    });
    const one = `/campaign-service/json-templates/${id}`;
    await demo.api("PATCH", one, { jsonSchema: schemaOf("title") });
    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
    const { page } = window;
    await signIn(window);
    await window.go("/templates?search=with%20a%20history");
    await settled(page);
    const open = () => page.getByRole("button", { name: "Template with a history" }).click();
    await open();
    const dialog = page.getByRole("dialog", { name: "Template with a history" });
    await dialog.getByText("2 (now)").waitFor();
    await dialog.getByRole("button", { name: "Compare version 1 with now" }).click();
    const difference = dialog.getByRole("region", { name: "From version 1 to now" });
    assert.deepEqual(await difference.locator("[data-kind=removed]").allInnerTexts(), ['-       "headline": {']);
    assert.deepEqual(await difference.locator("[data-kind=added]").allInnerTexts(), ['+       "title": {']);
    await inEach(page, views, async ({ name }) => {
      await difference.scrollIntoViewIfNeeded();
      await screenshot(page, `${name}-template-history`);
      if (name !== "narrow") await checkAccessibility(page, "history of a template");
    });
    await page.setViewportSize(views[0]);
    await dialog.getByRole("button", { name: "Bring back version 1" }).click();
    const question = page.getByRole("dialog", { name: "Bring version 1 back?" });
    await question.getByRole("button", { name: "Bring back" }).click();
    await dialog.waitFor({ state: "detached" });
    assert.deepEqual((await demo.api("GET", one)).jsonSchema, schemaOf("headline"));
    const { versions } = await demo.api("GET", `${one}/versions`);
    assert.deepEqual(versions.map(({ version }) => version), [3, 2, 1]);
    assert.ok(versions[0].userEmail && versions[1].keyId, JSON.stringify(versions));
    await settled(page);
    await open();
    await dialog.getByText("3 (now)").waitFor();
    await dialog.getByText(versions[0].userEmail).waitFor();
    await window.close();
  });
}
