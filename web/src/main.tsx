import "@mantine/core/styles.css";
import "./styles.css";
import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { createRoot } from "react-dom/client";
import { BrowserRouter } from "react-router";
import { onSignedOut } from "./api/client";
import { queries } from "./api/query";
import { leave } from "./api/session";
import { App } from "./app/App";
import { cssVariables, theme } from "./theme";

const base = "/console";

// The console is served at / too, so that the node's address is enough. Its own addresses all begin with /console.
if (!window.location.pathname.startsWith(base)) {
  window.history.replaceState(null, "", `${base}/${window.location.search}${window.location.hash}`);
}

onSignedOut(() => leave(queries));

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no element with the id root");
createRoot(root).render(
  <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto">
    <QueryClientProvider client={queries}>
      <BrowserRouter basename={base}>
        <App />
      </BrowserRouter>
    </QueryClientProvider>
  </MantineProvider>,
);
