// Every page, as an admin: it opens without a message, is accessible in light and dark, and fits a narrow screen.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAccessibility, openPage, screenshot, settled, signedOutNotice, signIn } from "./browser.mjs";

export function pageTests(given) {
  const views = [
    { name: "light", scheme: "light", width: 1360 },
    { name: "dark", scheme: "dark", width: 1360 },
    { name: "narrow", scheme: "light", width: 390, height: 800 },
  ];
  for (const view of views) {
    test(`every page, ${view.name}`, async () => {
      const { browser, demo } = given;
      const campaign = (await demo.api("GET", "/campaign-service/campaigns?limit=1&ad_format=listing")).campaigns[0];
      const pages = [
        "/",
        "/start",
        "/live",
        "/playground",
        "/reports",
        "/reports?by=vendor",
        "/campaigns",
        `/campaigns/${campaign.campaignId}`,
        `/campaigns/${campaign.campaignId}?tab=bids`,
        `/campaigns/${campaign.campaignId}?tab=forecast`,
        "/vendors",
        `/vendors/${campaign.vendorId}`,
        "/catalog",
        "/catalog?tab=categories",
        "/placements",
        "/placements?tab=slots",
        "/templates",
        "/assets",
        "/audiences",
        "/audiences?tab=offsite",
        "/keys",
        "/webhooks",
        "/users",
        "/users?tab=vendors",
        "/audit",
        "/cluster",
        "/log",
        "/simulations",
        "/settings",
        "/settings?tab=node",
        "/settings?tab=erase",
        "/account",
        "/purchases",
        "/purchases?tab=models",
        "/live?tab=explained",
        "/nothing-here",
      ];
      const window = await openPage(browser, demo.origin, { ...view, expected: [signedOutNotice] });
      await signIn(window);
      for (const path of pages) {
        await window.go(path);
        await settled(window.page);
        assert.equal(
          await window.page.getByRole("alert").count(),
          0,
          `${path} shows a failure: ${await window.page.getByRole("alert").allInnerTexts()}`,
        );
        const [content, screen] = await window.page.evaluate(() => [
          document.documentElement.scrollWidth,
          window.innerWidth,
        ]);
        assert.ok(content <= screen, `${path} is ${content} pixels wide on a screen of ${screen}`);
        await screenshot(
          window.page,
          `${view.name}${path.replace(campaign.campaignId, "one").replaceAll(/[^a-z0-9]+/gi, "-")}`,
        );
        if (view.name !== "narrow") await checkAccessibility(window.page, `${view.name} ${path}`);
        assert.deepEqual(window.faults, [], path);
      }
      await window.close();
    });
  }
}
