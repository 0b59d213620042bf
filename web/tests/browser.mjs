// Opens pages in Chromium and watches what no page may do: print an error, or ask another origin for something.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { admin } from "./node.mjs";

const shots = process.env.GAVEL_SCREENSHOTS;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const launchFlags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export const launch = () =>
  chromium.launch({ executablePath: process.env.GAVEL_BROWSER ?? "/usr/bin/chromium", args: launchFlags });

const patience = 60_000; // How long a busy machine may take, in milliseconds; an idle one needs few.

// asked holds, for each page, the requests for data that are not answered. A stream never is, so it is not among them.
const asked = new WeakMap();

function watchRequests(page) {
  const open = new Set();
  asked.set(page, open);
  page.on("request", (request) => {
    if (["fetch", "xhr"].includes(request.resourceType())) open.add(request);
  });
  for (const ended of ["requestfinished", "requestfailed"]) page.on(ended, (request) => open.delete(request));
}

// openPage opens a window. Its faults collect what it must not do; a part of the text names a fault that a test expects.
export async function openPage(browser, origin, { scheme = "light", width = 1360, height = 900, expected = [] } = {}) {
  const context = await browser.newContext({
    colorScheme: scheme,
    reducedMotion: "reduce", // In the middle of an animation colours are half transparent.
    viewport: { width, height },
    locale: "en-US",
    timezoneId: "Europe/Berlin",
  });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin });
  const page = await context.newPage();
  watchRequests(page);
  const faults = [];
  const add = (text) => {
    if (!expected.some((part) => text.includes(part))) faults.push(text);
  };
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning")
      add(`${message.type()}: ${message.text()} ${message.location().url}`);
  });
  page.on("pageerror", (error) => add(`exception: ${error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(`${origin}/`) && !/^(blob|data|about):/.test(request.url()))
      add(`foreign request: ${request.url()}`);
  });
  page.setDefaultTimeout(patience);
  return {
    page,
    faults,
    go: (path) => page.goto(`${origin}/console${path}`, { waitUntil: "load" }),
    close: async () => {
      assert.deepEqual(faults, [], "what the browser reported");
      await context.close();
    },
  };
}

// The browser reports the answer that nobody is signed in, which is how the sign-in page is found.
export const signedOutNotice = "/console/api/session";

export async function signIn(window, who = admin) {
  await window.go("/");
  await window.page.getByLabel("Email").fill(who.email);
  await window.page.getByRole("textbox", { name: "Password" }).fill(who.password);
  await window.page.keyboard.press("Enter");
  await window.page
    .getByRole("navigation", { name: "Pages" })
    .or(window.page.getByRole("button", { name: "Navigation" }))
    .first()
    .waitFor();
}

// settled waits until the page has its data: it says that it loads nothing, and for some frames, in which it shows what came
// and may ask for more, nothing it asked for is missing.
export async function settled(page) {
  await page.getByRole("heading", { level: 1 }).waitFor();
  const began = performance.now();
  for (let quiet = 0; quiet < 3; ) {
    const loads = await page.evaluate(async () => {
      await new Promise(requestAnimationFrame);
      return document.querySelector("[role=status][aria-label=Loading]") !== null;
    });
    const open = [...asked.get(page)].map((request) => request.url());
    quiet = loads || open.length > 0 ? 0 : quiet + 1;
    const waits = open.length > 0 ? `waits for ${open.join(" and ")}` : "shows that it loads and asks for nothing";
    assert.ok(performance.now() - began < patience, `${page.url()} still ${waits}`);
  }
}

// checkAccessibility fails for violations that axe calls serious or critical. Axe reads a page in several steps, and on a busy
// machine the page changes between them: it found the text of the dark page on the light one, which nobody would see. So what
// it finds must still be there a second later.
export async function checkAccessibility(page, where) {
  await page.evaluate(axe);
  let serious = await violations(page, where);
  if (serious.length > 0) {
    await page.waitForTimeout(1000);
    serious = await violations(page, where);
  }
  assert.deepEqual(serious, []);
}

async function violations(page, where) {
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(
      ({ id, nodes }) =>
        `${where}: ${id}: ${nodes
          .slice(0, 3)
          .map((node) => `${node.target} ${node.html.slice(0, 160)} ${node.failureSummary}`)
          .join(" | ")}`,
    );
}

// screenshot takes a picture where GAVEL_SCREENSHOTS names a directory for them. Taking one of each view costs the tests minutes.
export async function screenshot(page, name) {
  if (!shots) return;
  mkdirSync(shots, { recursive: true });
  await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
}
