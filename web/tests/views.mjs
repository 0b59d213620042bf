// Every view of the console, for the tests and for the pictures: the pages of src/app/pages.ts with their tabs, and what is
// shown without a session.
import { readFileSync } from "node:fs";
import { signIn, openPage, settled, signedOutNotice } from "./browser.mjs";

const source = (path) => readFileSync(new URL(`../src/${path}`, import.meta.url), "utf8");

export const views = [
  { name: "light", scheme: "light", width: 1360, height: 900 },
  { name: "dark", scheme: "dark", width: 1360, height: 900 },
  { name: "narrow", scheme: "light", width: 390, height: 800 },
];

// rows are the addresses of an admin: of each page, and of each tab but the first. page is its path in src/app/pages.ts.
export const rows = [
  { page: "/" },
  { page: "/", query: "days=24h" },
  { page: "/", query: "days=1h" },
  { page: "/start" },
  { page: "/live" },
  { page: "/live", tab: "explained" },
  { page: "/playground" },
  { page: "/simulations" },
  { page: "/reports" },
  { page: "/reports", query: "by=vendor" },
  { page: "/reports", query: "by=campaign" },
  { page: "/reports", query: "by=device" },
  { page: "/events" },
  { page: "/purchases" },
  { page: "/purchases", tab: "models" },
  { page: "/campaigns" },
  { page: "/campaigns", query: "status=rejected" },
  { page: "/campaigns/:id" },
  { page: "/campaigns/:id", query: "days=24h" },
  { page: "/campaigns/:id", tab: "bids" },
  { page: "/campaigns/:id", tab: "forecast" },
  { page: "/vendors" },
  { page: "/vendors/:id" },
  { page: "/catalog" },
  { page: "/catalog", tab: "categories" },
  { page: "/placements" },
  { page: "/placements", tab: "slots" },
  { page: "/templates" },
  { page: "/assets" },
  { page: "/audiences" },
  { page: "/audiences", tab: "offsite" },
  { page: "/keys" },
  { page: "/webhooks" },
  { page: "/users" },
  { page: "/users", tab: "vendors" },
  { page: "/audit" },
  { page: "/cluster" },
  { page: "/log" },
  { page: "/settings" },
  { page: "/settings", tab: "experiment" },
  { page: "/settings", tab: "erase" },
  { page: "/settings", tab: "node" },
  { page: "/account" },
  { page: "*" }, // An address that no page has.
];

// entrances are the addresses that are shown without a session, with the heading of each.
export const entrances = [
  { path: "/", heading: "Sign in" },
  { path: "/setup", heading: "Set up this node" },
  { path: "/setup#token=of-the-test", heading: "Set up this node" },
  { path: "/invitation", heading: "Accept the invitation" },
  { path: "/invitation#token=of-the-test", heading: "Accept the invitation" },
];

// dialogs are what opens on a page: its address and the button.
export const dialogs = [
  ["/keys", "Create key"],
  ["/campaigns", "Create campaign"],
  ["/campaigns", "Create banner campaign"],
  ["/campaigns", "Views"],
  ["/vendors", "Add vendor"],
  ["/catalog", "Add product"],
  ["/placements", "Create placement"],
  ["/placements?tab=slots", "Create slot"],
  ["/templates", "Create template"],
  ["/assets", "Upload asset"],
  ["/assets", "Uses of Autumn sale"],
  ["/assets", "Delete Autumn sale"],
  ["/audiences", "Create segment"],
  ["/webhooks", "Create webhook"],
  ["/users", "Invite a colleague"],
  ["/users?tab=vendors", "Invite"],
];

// addressOf returns the address of a row. ids are those of a campaign and of a vendor.
export function addressOf(row, ids) {
  if (row.page === "*") return "/nothing-here";
  const path = row.page.replace(":id", row.page.startsWith("/vendors") ? ids.vendor : ids.campaign);
  const query = [row.tab && `tab=${row.tab}`, row.query].filter(Boolean).join("&");
  return query ? `${path}?${query}` : path;
}

// nameOf returns the name of the picture of a row.
export const nameOf = (row) =>
  [row.page.replace("*", "not found").replace(":id", "one"), row.tab, row.query]
    .filter(Boolean)
    .join(" ")
    .replaceAll(/[^a-z0-9]+/gi, "-")
    .replaceAll(/^-|-$/g, "") || "overview";

// listed returns what the console has: the path and the file of each page, with the tabs that its file names but the first.
export function listed() {
  const entry = /\{\s*path: "([^"]+)"[^}]*?import\("\.\.\/pages\/(\w+)"\)/gs;
  return [...source("app/pages.ts").matchAll(entry)].map(([, page, file]) => {
    const text = source(`pages/${file}.tsx`);
    const first = /useAddressState\("tab", "(\w+)"\)/.exec(text)?.[1];
    const tabs = first ? [...text.matchAll(/<Tabs\.Tab value="(\w+)"/g)].map(([, tab]) => tab) : [];
    return { page, tabs: tabs.filter((tab) => tab !== first) };
  });
}

// inEach shows a page that is open in one view after the other and calls a function for each.
export async function inEach(page, views, look) {
  for (const view of views) {
    await page.emulateMedia({ colorScheme: view.scheme, reducedMotion: "reduce" });
    await page.setViewportSize({ width: view.width, height: view.height });
    // A check of colours must not read half of them before the script of the page has changed them.
    await page.waitForFunction(
      (scheme) =>
        document.documentElement.dataset.mantineColorScheme === scheme &&
        !document.getAnimations().some((a) => a instanceof CSSTransition),
      view.scheme,
    );
    await page.waitForTimeout(100); // What depends on the width is laid out again.
    await look(view);
  }
}

// showEach opens every row as an admin and calls a function in each of the views, with the window, the row, its address and
// the view.
export async function showEach(browser, node, views, look) {
  const { campaigns } = await node.api("GET", "/campaign-service/campaigns?limit=100&ad_format=listing");
  const [campaign] = campaigns.sort((a, b) => (b.budget?.amountUsed ?? 0) - (a.budget?.amountUsed ?? 0)); // It has something to show.
  const window = await openPage(browser, node.origin, { expected: [signedOutNotice] });
  await signIn(window);
  for (const row of rows) {
    const address = addressOf(row, { campaign: campaign.campaignId, vendor: campaign.vendorId });
    await window.go(address);
    await settled(window.page);
    await inEach(window.page, views, (view) => look(window, row, address, view));
  }
  await window.close();
}

// showEntrances opens what is shown without a session.
export async function showEntrances(browser, node, views, look) {
  const window = await openPage(browser, node.origin, { expected: [signedOutNotice] });
  for (const entrance of entrances) {
    await window.page.goto("about:blank"); // An address that differs in its fragment alone would not be loaded.
    await window.go(entrance.path);
    await window.page.getByRole("heading", { name: entrance.heading, exact: true }).waitFor();
    await inEach(window.page, views, (view) => look(window, entrance, view));
  }
  await window.close();
}

// showDialogs opens every dialog as an admin and calls a function in each of the views, with the window, the text of its
// button, and the view. The button is pressed in the narrowest view, where it is hardest to reach. Escape closes a dialog.
export async function showDialogs(browser, node, views, look) {
  const { width, height } = views.reduce((narrowest, view) => (view.width < narrowest.width ? view : narrowest));
  const window = await openPage(browser, node.origin, { width, height, expected: [signedOutNotice] });
  const { page } = window;
  await signIn(window);
  for (const [address, button] of dialogs) {
    await page.setViewportSize({ width, height });
    await window.go(address);
    await settled(page);
    await page.getByRole("button", { name: button, exact: true }).first().click();
    await page.getByRole("dialog").waitFor();
    await inEach(page, views, (view) => look(window, button, view));
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }
  await window.close();
}
