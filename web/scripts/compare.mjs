// Fails when the committed build differs from a fresh one. The compressed files are compared by their content, because
// versions of Node.js compress differently.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

const web = fileURLToPath(new URL("..", import.meta.url));
const committed = fileURLToPath(new URL("../../node/console/dist", import.meta.url));
const fresh = mkdtempSync(join(tmpdir(), "gavel-console-build-"));
const schema = join(web, "src/api/schema.ts");

// contents reads all files of a directory by their paths; a compressed file counts as what it contains.
function contents(directory) {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    files.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const bytes = readFileSync(path);
      return [relative(directory, path), path.endsWith(".gz") ? gunzipSync(bytes) : bytes];
    }),
  );
}

try {
  const run = (...args) =>
    execFileSync("npm", ["run", "--silent", ...args], { cwd: web, stdio: ["ignore", "ignore", "inherit"] });
  const before = readFileSync(schema);
  run("types");
  const faults = before.equals(readFileSync(schema)) ? [] : ["src/api/schema.ts is not that of the API's document"];
  run("check");
  execFileSync("npx", ["vite", "build", "--outDir", fresh, "--emptyOutDir", "--logLevel", "error"], {
    cwd: web,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [old, now] = [contents(committed), contents(fresh)];
  for (const [name, bytes] of now) {
    if (!old.get(name)?.equals(bytes)) faults.push(`${name} is missing or differs`);
    if (/\.(js|css|html|svg)$/.test(name) && !old.get(`${name}.gz`)?.equals(bytes))
      faults.push(`${name}.gz is missing or differs`);
  }
  for (const name of old.keys()) {
    if (!now.has(name.replace(/\.gz$/, ""))) faults.push(`${name} is left over`);
  }
  if (faults.length > 0) {
    console.error(
      `node/console/dist is not the build of web/; run make web and commit the result:\n  ${faults.join("\n  ")}`,
    );
    process.exitCode = 1;
  } else {
    console.log(`node/console/dist is the build of web/: ${now.size} files`);
  }
} finally {
  rmSync(fresh, { recursive: true, force: true });
}
