// Writes a .gz file beside each file of the build, so that the node never compresses. The bytes depend on the content
// only: the time of the gzip header stays 0.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const dist = fileURLToPath(new URL("../../node/console/dist", import.meta.url));
const scriptMax = 250_000; // Bytes of script that the first page loads, compressed.

for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !/\.(js|css|html|svg|json)$/.test(entry.name)) continue;
  const path = join(entry.parentPath, entry.name);
  writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
}

// The first page loads the scripts that the index names: its module and what it preloads.
const index = readFileSync(join(dist, "index.html"), "utf8");
const scripts = [...index.matchAll(/(?:src|href)="\/console\/(assets\/[^"]+\.js)"/g)].map((match) => match[1]);
const size = scripts.reduce((sum, script) => sum + gzipSync(readFileSync(join(dist, script)), { level: 9 }).length, 0);
console.log(`first load: ${size} bytes of script, compressed; ${scriptMax} are allowed`);
if (scripts.length === 0 || size > scriptMax) process.exit(1);
