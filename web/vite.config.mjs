import { defineConfig } from "vite";

// The node serves the build below /console/ and sends the strict content security policy, so nothing is inlined as a data
// address except what the policy allows for images.
export default defineConfig({
  base: "/console/",
  build: {
    outDir: "../node/console/dist",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    rollupOptions: {
      // The components carry a mark for server rendering that means nothing here.
      onwarn: (warning, warn) => {
        if (warning.code !== "MODULE_LEVEL_DIRECTIVE") warn(warning);
      },
    },
  },
});
