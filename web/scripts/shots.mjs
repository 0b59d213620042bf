// Takes a picture of every view of the console, light, dark and narrow, of a filled demo: to be looked at as a customer would.
// They are written to the directory that GAVEL_SCREENSHOTS names. Needs bin/gavel and Chromium, as the tests do.
// SHOTS_SECONDS is how long the demo's shoppers browse before, 60 by default; SHOTS_VIEWS names some of the views.
import { setTimeout as sleep } from "node:timers/promises";
import { launch, openPage, screenshot, settled, signedOutNotice, signIn } from "../tests/browser.mjs";
import { fillDemo, startNode } from "../tests/node.mjs";
import { nameOf, showDialogs, showEach, showEntrances, views } from "../tests/views.mjs";

if (!process.env.GAVEL_SCREENSHOTS) throw new Error("GAVEL_SCREENSHOTS names no directory for the pictures");
const seconds = Number(process.env.SHOTS_SECONDS ?? 60);
const wanted = (process.env.SHOTS_VIEWS ?? views.map(({ name }) => name).join(",")).split(",");

const browser = await launch();
const demo = await startNode("demo", {
  flags: ["--campaigns", "300", "--products", "5000", "--vendors", "60", "--shoppers", "10"],
});
try {
  await fillDemo(demo);
  console.log(`the demo's shoppers browse for ${seconds} s`);
  await sleep(seconds * 1_000);
  const shown = views.filter(({ name }) => wanted.includes(name));
  await showEach(browser, demo, shown, async ({ page }, row, _, view) => {
    await firstRates(page);
    await screenshot(page, `shot-${view.name}-${nameOf(row)}`);
  });
  await showEntrances(browser, demo, shown, ({ page }, { path }, view) =>
    screenshot(page, `shot-${view.name}-without-session${path.replaceAll(/[^a-z0-9]+/gi, "-")}`),
  );
  await showDialogs(browser, demo, shown, ({ page }, button, view) =>
    screenshot(page, `shot-${view.name}-dialog-${button.replaceAll(" ", "-")}`),
  );
  for (const view of shown) await showInspector(view);
} finally {
  await browser.close();
  await demo.remove();
}

// firstRates waits until a page of live traffic has some. Other pages have nothing to wait for.
async function firstRates(page) {
  await page.waitForFunction(() => !/waiting for the (first seconds|next)/i.test(document.body.innerText));
}

// showInspector takes a picture of an explained auction.
async function showInspector(view) {
  const window = await openPage(browser, demo.origin, { ...view, expected: [signedOutNotice] });
  const { page } = window;
  await signIn(window);
  await window.go("/playground");
  await settled(page);
  await page.getByRole("button", { name: "Run and explain" }).click();
  await page.getByRole("button", { name: "Numbers" }).first().click();
  await page.evaluate(() => window.scrollTo(0, 0)); // Otherwise the header is in the middle of the whole page.
  await screenshot(page, `shot-${view.name}-inspector`);
  await window.close();
}
