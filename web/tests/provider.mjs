// Sign-in through an identity provider that the test runs: the button, the way there and back, and why it fails.
import assert from "node:assert/strict";
import { createHash, createSign, generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { test } from "node:test";
import { checkAccessibility, openPage, screenshot, signedOutNotice } from "./browser.mjs";
import { admin, startNode } from "./node.mjs";

// startProvider starts an OpenID Connect provider that signs everybody in, as the person that it is told.
async function startProvider() {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const codes = new Map();
  const provider = { email: admin.email, origin: "", close: () => server.close() };
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const tokenOf = (asked) => {
    const now = Math.floor(Date.now() / 1_000);
    const claims = { iss: provider.origin, sub: "1", aud: "gavel", iat: now, exp: now + 60, nonce: asked.get("nonce") };
    const text = `${part({ alg: "ES256", kid: "1" })}.${part({ ...claims, email: provider.email, email_verified: true })}`;
    const signature = createSign("sha256").update(text).sign({ key: privateKey, dsaEncoding: "ieee-p1363" });
    return `${text}.${signature.toString("base64url")}`;
  };
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, provider.origin);
    const json = (status, value) => response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
    if (pathname === "/authorize") {
      const code = randomUUID();
      codes.set(code, searchParams);
      const back = new URLSearchParams({ code, state: searchParams.get("state") });
      return response.writeHead(302, { Location: `${searchParams.get("redirect_uri")}?${back}` }).end();
    }
    if (pathname === "/keys") return json(200, { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "1" }] });
    if (pathname === "/token") {
      let body = "";
      for await (const text of request) body += text;
      const sent = new URLSearchParams(body);
      const asked = codes.get(sent.get("code"));
      const challenge = createHash("sha256").update(sent.get("code_verifier") ?? "").digest("base64url");
      if (asked?.get("code_challenge") !== challenge) return json(400, { error: "invalid_grant" });
      return json(200, { access_token: "x", token_type: "Bearer", id_token: tokenOf(asked) });
    }
    return json(200, {
      issuer: provider.origin,
      authorization_endpoint: `${provider.origin}/authorize`,
      token_endpoint: `${provider.origin}/token`,
      jwks_uri: `${provider.origin}/keys`,
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  provider.origin = `http://127.0.0.1:${server.address().port}`;
  return provider;
}

export function providerTests(given) {
  test("a person signs in through the identity provider, and a stranger is told why not", async () => {
    const provider = await startProvider();
    const node = await startNode("serve", {
      flags: ["--oidc-issuer", provider.origin, "--oidc-client-id", "gavel", "--oidc-name", "Example"],
    });
    try {
      for (const scheme of ["light", "dark"]) {
        const expected = [signedOutNotice, provider.origin];
        const window = await openPage(given.browser, node.origin, { scheme, expected });
        const { page } = window;
        provider.email = "stranger@example.com";
        await window.go("/");
        const button = page.getByRole("link", { name: "Sign in with Example" });
        await button.waitFor();
        await screenshot(page, `${scheme}-sign-in-provider`);
        await checkAccessibility(page, "sign in, provider");
        await button.focus();
        await page.keyboard.press("Enter");
        await page.getByText("Nobody has your e-mail address here").waitFor();
        await screenshot(page, `${scheme}-sign-in-provider-unknown`);
        await checkAccessibility(page, "sign in, unknown to the provider");
        provider.email = admin.email;
        await button.click();
        await page.getByRole("button", { name: admin.email }).waitFor();
        assert.equal(new URL(page.url()).pathname.replace(/\/$/, ""), "/console");
        await window.close();
      }
    } finally {
      await node.remove();
      provider.close();
    }
  });
}
