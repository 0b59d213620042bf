// Starts nodes for the tests, each with its own directory and ports.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export const binary = process.env.GAVEL_BINARY ?? fileURLToPath(new URL("../../bin/gavel", import.meta.url));
const startMillis = 180_000; // A busy machine needs longer than an idle one.

export const admin = { email: "ada@example.com", password: "correct horse battery staple" };

// Ports are below the range that the kernel uses for outgoing connections. Otherwise the browser could get the port of a
// node that is stopped for a moment.
const [portFirst, portCount] = [20_000, 12_000];
let portNext = process.pid * 37;

async function freePort() {
  for (let tries = 0; tries < portCount; tries++) {
    const port = portFirst + (portNext++ % portCount);
    const server = createServer();
    const free = await new Promise((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!free) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
  throw new Error("no free port");
}

// startNode runs a command of gavel and waits until it is ready. The returned node can be stopped and started again.
export async function startNode(command, { withAdmin = true, flags = [] } = {}) {
  const directory = mkdtempSync(join(tmpdir(), "gavel-console-"));
  const [auctions, manage, peers] = [await freePort(), await freePort(), await freePort()];
  writeFileSync(join(directory, "password"), `${admin.password}\n`, { mode: 0o600 });
  const node = { origin: `http://127.0.0.1:${manage}`, auctions: `http://127.0.0.1:${auctions}`, log: "", child: null };

  node.start = async () => {
    const env = {
      ...process.env,
      ...(withAdmin ? { GAVEL_ADMIN_EMAIL: admin.email, GAVEL_ADMIN_PASSWORD_FILE: join(directory, "password") } : {}),
    };
    node.child = spawn(
      binary,
      [
        command,
        "--data-dir",
        join(directory, "data"),
        "--keys-file",
        join(directory, "keys.json"),
        "--auction-listen",
        `127.0.0.1:${auctions}`,
        "--manage-listen",
        `127.0.0.1:${manage}`,
        "--peer-listen",
        `127.0.0.1:${peers}`,
        ...flags,
      ],
      { env, stdio: ["ignore", "pipe", "pipe"] },
    );
    for (const stream of [node.child.stdout, node.child.stderr])
      stream.on("data", (text) => {
        node.log += text;
      });
    const deadline = Date.now() + startMillis;
    const ready = () =>
      fetch(`${node.origin}/readyz`).then(
        (answer) => answer.ok,
        () => false,
      );
    const filled = () => command !== "demo" || node.log.includes("curl -s");
    while (!(await ready()) || !filled()) {
      if (Date.now() > deadline || node.child.exitCode !== null)
        throw new Error(`the node does not start:\n${node.log}`);
      await sleep(100);
    }
  };
  node.stop = async () => {
    if (!node.child || node.child.exitCode !== null) return;
    const ended = new Promise((resolve) => node.child.once("exit", resolve));
    node.child.kill("SIGTERM");
    await ended;
  };
  node.remove = async () => {
    await node.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  node.keys = () => JSON.parse(readFileSync(join(directory, "keys.json"), "utf8"));
  // api calls the management API with the first management key and fails on a refusal.
  node.api = async (method, path, body) => {
    const answer = await fetch(`${node.origin}/public/v1${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${node.keys().managementKey}`,
        ...(body ? { "Content-Type": "application/json" } : {}),
      },
      body: body && JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : undefined;
  };
  // console calls the console's own service as the admin, who signs in at the first call, and again when the windows of the
  // tests have since opened so many sessions that the node has ended this one.
  node.console = async (method, path, body) => {
    const send = (cookie, method, path, body) =>
      fetch(`${node.origin}/console/api${path}`, {
        method,
        headers: { ...(cookie ? { Cookie: cookie } : {}), ...(body ? { "Content-Type": "application/json" } : {}) },
        body: body && JSON.stringify(body),
      });
    const enter = async () => (await send("", "POST", "/session", admin)).headers.get("Set-Cookie").split(";")[0];
    node.cookie ??= await enter();
    let answer = await send(node.cookie, method, path, body);
    if (answer.status === 401) {
      node.cookie = await enter();
      answer = await send(node.cookie, method, path, body);
    }
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : undefined;
  };
  // explain returns the first explained auction of a body of /v2/auctions.
  node.explain = async (auction) => (await node.api("POST", "/auctions/explain", { auctions: [auction] })).auctions[0];
  node.auction = (key, products, requestId) =>
    fetch(`${node.auctions}/v2/auctions`, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}`, ...(requestId ? { "X-Request-Id": requestId } : {}) },
      body: JSON.stringify({ auctions: [{ type: "listings", slots: 1, products: { ids: products } }] }),
    });
  // send sends a body to the auction listener with the demo's key, as a storefront does.
  node.send = async (path, body) => {
    const headers = { Authorization: `Bearer ${node.keys().auctionKey}` };
    const answer = await fetch(`${node.auctions}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  try {
    await node.start();
  } catch (err) {
    await node.remove(); // Else the tests would wait for its process for ever.
    throw err;
  }
  return node;
}

// openCampaign adds a product of a vendor and a campaign for it, which nobody else bids on and no shopper knows.
export async function openCampaign(node, vendor, product, name) {
  await node.api("PUT", "/catalog-search-service/catalogs/products", {
    products: [{ id: product, name: `${name} product`, vendors: [vendor], categories: [], price: 10 }],
  });
  return node.api("POST", `/campaign-service/campaigns?vendor_id=${vendor}`, {
    name: `${name} campaign`,
    campaignType: "manual",
    budget: { amount: 100_000, type: "daily" },
    bids: [{ target: { type: "product", id: product }, amount: 50 }],
  });
}

// openShop adds a vendor with a campaign of its own, and waits until it wins. What it wins does not depend on what the demo's shoppers have clicked, and so on how pacing slows others.
export async function openShop(node) {
  const [vendor, product] = ["own-vendor", "own-product"];
  await node.api("PUT", "/catalog-search-service/catalogs/vendors", { vendors: [{ id: vendor, name: "Own vendor" }] });
  await node.api("POST", `/billing-service/vendors/${vendor}/balance`, { balance: 1_000 });
  const { campaignId } = await openCampaign(node, vendor, product, "Own");
  await until(() => "the own campaign wins", async () => {
    const { results } = await (await node.auction(node.keys().auctionKey, [product])).json();
    return results[0].winners.length === 1;
  });
  return { vendor, product, campaignId };
}

// until asks again and again until a condition holds. what says it, and is called when it does not come to hold.
export async function until(what, holds) {
  for (const deadline = Date.now() + startMillis; !(await holds()); await sleep(100))
    if (Date.now() > deadline) throw new Error(`it did not come to hold: ${what()}`);
}

// fillDemo adds to a demo what its market lacks, so that no page of the pictures is empty: segments, audiences of networks,
// a webhook, colleagues and people of vendors who are invited, and an asset that awaits its review.
export async function fillDemo(node) {
  await node.api("PUT", "/segment-service/segments", {
    segments: [
      { id: "loyal", name: "Loyal buyers", description: "More than five orders" },
      { id: "newcomers", name: "Newcomers", description: "Their first order was in the last 30 days" },
    ],
  });
  await node.api("POST", "/offsite-ads/advertisers", { vendorId: "v10", dsp: ["google_ads", "meta"], billing_mode: "post" });
  await node.api("POST", "/offsite-ads/audiences/user-list?vendor_id=v10", {
    name: "Bought in spring",
    description: "Customers with an order in March, April or May",
    dsp: ["google_ads", "meta"],
  });
  await node.api("POST", "/webhooks/webhooks", {
    url: "https://receiver.example.com/gavel",
    channel: "campaign:create",
    secret: "of the pictures",
  });
  await node.api("POST", "/invitation-service/invitations", {
    invites: [{ vendorEmail: "nina@example.com", vendorId: "v11", targetUserRole: "vendor_admin" }],
  });
  await node.api("POST", "/assets/asset?vendor_id=v12", {
    name: "Autumn sale",
    externalUrl: "https://images.example.com/autumn.png",
  });
  await node.api("POST", "/key-service/keys", { kind: "auction", name: "storefront" });
  await node.console("POST", "/users", { email: "otto@example.com", role: "operator" });
}
