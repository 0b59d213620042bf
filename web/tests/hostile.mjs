// Text of users stays text, and markup of users stays in its frame.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openPage, settled, signedOutNotice, signIn } from "./browser.mjs";

const hostileName = '<img src=x onerror="window.hacked=1"><script>window.hacked=2</script>';
const hostileMarkup =
  "<script>top.hacked=3;parent.document.title='taken'</script><img src=x onerror='top.hacked=4'>" +
  '<a href="javascript:top.hacked=5" target=_top>go</a>' +
  '<form action=/console/api/session method=post><button>send</button></form>' +
  "<div class=cover>COVER</div></style><style>body{color:red}";
const hostileStyle =
  ".cover,body{position:fixed;inset:0;z-index:99999;background:#f00}</style><script>top.hacked=6</script>";

export function hostileTests(given) {
  test("a hostile product name is text", async () => {
    const { browser, demo } = given;
    await demo.api("PUT", "/catalog-search-service/catalogs/products", {
      products: [{ id: "hostile", name: hostileName, vendors: ["v1"], categories: [], price: 1 }],
    });
    const window = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
    const { page } = window;
    await signIn(window);
    await window.go("/catalog");
    await page.getByLabel("Product id").fill("hostile");
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByRole("button", { name: hostileName }).click();
    await page.getByRole("dialog").waitFor();
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    await window.close();
  });

  test("a hostile preview changes nothing outside its frame", async () => {
    const { browser, demo } = given;
    const { placements } = await demo.api("GET", "/placement-service/placements?limit=1");
    await demo.api("PATCH", `/placement-service/placements/${placements[0].placementId}`, {
      previewTemplate: { html: hostileMarkup, css: hostileStyle },
    });
    // The browser reports the scripts that the frame must not run; that is the defence at work.
    const window = await openPage(browser, demo.origin, {
      expected: [signedOutNotice, "Blocked script execution", "about:srcdoc", "/console/x"],
    });
    const { page } = window;
    await signIn(window);
    await window.go("/placements");
    await page.getByRole("button", { name: placements[0].name }).click();
    const frame = page.locator("iframe").first();
    await frame.waitFor();
    assert.equal(await frame.getAttribute("sandbox"), "");
    await page.waitForTimeout(500);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await page.title(), "Placements · Gavel");
    await page.getByRole("button", { name: "Close" }).click(); // Nothing covers it.
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Campaigns" }).click();
    await page.getByRole("heading", { name: "Campaigns", level: 1 }).waitFor();
    await settled(page);
    await window.close();
  });
}
