// A banner campaign is created from a template, whose preview is a frame without rights.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAccessibility, openPage, screenshot, signedOutNotice, signIn } from "./browser.mjs";

export function bannerTests(given) {
  test("a banner campaign is created from a template and shown before in a frame", async () => {
    const { browser, demo, shop } = given;
    await demo.api("POST", "/media-service/slots", {
      slotId: "banner-of-the-test",
      position: "landing",
      dimensions: { desktop: { width: 600, height: 150 }, mobile: { width: 300, height: 100 } },
    });
    const template = await demo.api("POST", "/campaign-service/json-templates", {
      name: "Banner of the test",
      description: "Text and a number",
      adFormat: "banner",
      jsonSchema: {
        type: "object",
        required: ["headline", "stars"],
        properties: { headline: { type: "string", maxLength: 40 }, stars: { type: "integer", minimum: 3, maximum: 5 } },
      },
    });
    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice, "422"] });
    const { page } = window;
    await signIn(window);
    await window.go("/campaigns");
    await page.getByRole("button", { name: "Create banner campaign" }).click();
    const dialog = page.getByRole("dialog", { name: "Create a banner campaign" });
    const pick = async (label, option) => {
      await dialog.getByLabel(label).first().fill(option);
      await page.getByRole("option", { name: option }).click();
    };
    await dialog.getByLabel("Vendor").fill(shop.vendor);
    await dialog.getByLabel("Name").fill("Banner of the browser");
    await pick("Slot", "banner-of-the-test");
    await dialog.getByLabel("Opens").fill("https://shop.example/sale");
    await pick("Template", "Banner of the test");
    await dialog.getByLabel("headline").fill("<img src=x onerror=alert(1)> Sale");
    const preview = page.locator('iframe[title="Preview of the banner"]');
    await preview.scrollIntoViewIfNeeded(); // What is in a frame out of sight may not be laid out.
    await preview.contentFrame().getByText("<img src=x onerror=alert(1)> Sale").waitFor(); // As text.
    assert.equal(await preview.getAttribute("sandbox"), "");
    await dialog.getByLabel("Other members").fill('{"stars": 9}');
    await dialog.getByRole("button", { name: "Create banner" }).click();
    await dialog.getByText(/does not satisfy maximum of the template's schema/).waitFor();
    await checkAccessibility(page, "create a banner");
    await screenshot(page, "light-create-banner");
    await dialog.getByLabel("Other members").fill('{"stars": 4}');
    await dialog.getByRole("button", { name: "Create banner" }).click();
    await page.getByRole("heading", { name: "Banner of the browser", level: 1 }).waitFor();
    const id = new URL(page.url()).pathname.split("/").at(-1);
    const { bids } = await demo.api("GET", `/campaign-service/campaigns/${id}/bids`);
    const [{ jsonTemplateId, content }] = bids[0].formatProperties.bannerAssets;
    assert.equal(jsonTemplateId, template.id);
    assert.deepEqual(content, { headline: "<img src=x onerror=alert(1)> Sale", stars: 4 });
    await demo.api("DELETE", `/campaign-service/campaigns/${id}`);
    await window.close();
  });
}
