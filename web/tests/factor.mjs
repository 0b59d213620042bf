// The second factor: set up, asked for at the sign-in, replaced by a recovery code, reset by an admin.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { checkAccessibility, openPage, screenshot, settled, signedOutNotice, signIn } from "./browser.mjs";

const who = { email: "fay@example.com", password: "a long enough password" };
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const periodMillis = 30_000;

// codeOf returns the code that an app shows for a secret (RFC 6238), some periods from now.
function codeOf(secret, later = 0) {
  const bits = [...secret].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / periodMillis) + later));
  const mac = createHmac("sha1", key).update(counter).digest();
  const number = mac.readUInt32BE(mac[19] & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, "0");
}

async function invite(admin) {
  await admin.go("/users");
  await admin.page.getByRole("button", { name: "Invite a colleague" }).first().click();
  await admin.page.getByLabel("Email").fill(who.email);
  await admin.page.getByRole("button", { name: "Invite", exact: true }).click();
  await admin.page.getByRole("button", { name: `Copy link for ${who.email}` }).click();
  return admin.page.evaluate(() => navigator.clipboard.readText());
}

const credentials = async (page) => {
  await page.getByLabel("Email").fill(who.email);
  await page.getByRole("textbox", { name: "Password" }).fill(who.password);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Second factor" }).waitFor();
};

// typeInto types into the field that has the focus, as soon as one has it: a dialog is there some moments before.
const typeInto = async (page, text) => {
  await page.waitForFunction(() => document.activeElement?.tagName === "INPUT");
  await page.keyboard.type(text);
};

export function factorTests(given) {
  for (const scheme of ["light", "dark"])
    test(`a second factor is set up by keyboard, asked for, and reset by an admin, ${scheme}`, async () => {
      const { browser, demo } = given;
      const admin = await openPage(browser, demo.origin, { expected: [signedOutNotice] });
      await signIn(admin);
      const link = await invite(admin);
      const window = await openPage(browser, demo.origin, { scheme, expected: [signedOutNotice, "401", "404"] });
      const { page } = window;
      await page.goto(link);
      await page.getByLabel("Name").fill("Fay");
      await page.getByRole("textbox", { name: "Password" }).fill(who.password);
      await page.getByRole("button", { name: "Accept and sign in" }).click();
      const menu = page.getByRole("button", { name: "Fay" });
      await menu.click();
      await page.getByRole("menuitem", { name: "Your account" }).click();
      await page.getByRole("heading", { name: "Your account" }).waitFor();
      await settled(page);
      await screenshot(page, `${scheme}-account-off`);
      await checkAccessibility(page, "account, off");

      await page.getByRole("button", { name: "Set up" }).focus();
      await page.keyboard.press("Enter");
      await page.getByRole("textbox", { name: "Current password" }).waitFor();
      await typeInto(page, who.password);
      await page.keyboard.press("Enter");
      await page.getByRole("img", { name: "QR code of the secret" }).waitFor();
      const secret = await page.locator("[data-secret]").getAttribute("data-secret");
      await screenshot(page, `${scheme}-account-secret`);
      await checkAccessibility(page, "account, secret");
      await typeInto(page, codeOf(secret, -1)); // The codes of now and of the next period are still to be used.
      await page.keyboard.press("Enter");
      const codes = page.getByRole("region", { name: "Recovery codes" });
      await codes.waitFor();
      const recovery = (await codes.innerText()).trim().split(/\s+/);
      assert.equal(recovery.length, 10);
      await screenshot(page, `${scheme}-account-recovery`);
      await checkAccessibility(page, "account, recovery codes");
      await page.keyboard.press("Enter");
      await page.getByText("10 recovery codes left").waitFor();
      await screenshot(page, `${scheme}-account-on`);
      await checkAccessibility(page, "account, on");

      await menu.click();
      await page.getByRole("menuitem", { name: "Sign out" }).click();
      await credentials(page);
      await screenshot(page, `${scheme}-sign-in-code`);
      await checkAccessibility(page, "sign in, code");
      await typeInto(page, "aaaa-aaaa-aaaa-aaaa");
      await page.keyboard.press("Enter");
      await page.getByRole("alert").waitFor();
      await checkAccessibility(page, "sign in, wrong code");
      await page.getByLabel("Code").fill(codeOf(secret));
      await page.keyboard.press("Enter");
      await menu.click();
      await page.getByRole("menuitem", { name: "Sign out" }).click();
      await credentials(page);
      await typeInto(page, recovery[0]);
      await page.keyboard.press("Enter");
      await menu.waitFor();
      await window.go("/account");
      await page.getByText("9 recovery codes left").waitFor();

      await admin.page.reload();
      await admin.page.getByRole("button", { name: `Reset second factor of ${who.email}` }).waitFor();
      await screenshot(admin.page, `${scheme}-users-factor`);
      await admin.page.getByRole("button", { name: `Reset second factor of ${who.email}` }).click();
      await admin.page.getByRole("dialog").getByRole("button", { name: "Reset second factor" }).click();
      await admin.page.getByRole("dialog").waitFor({ state: "detached" });
      await admin.page.getByRole("button", { name: `Remove ${who.email}` }).click();
      await admin.page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
      await admin.page.getByRole("dialog").waitFor({ state: "detached" });
      await window.close();
      await admin.close();
    });
}
