// Live auctions: requests as the node answers them, and the sampled ones with the outcome of every bid.
import { Button, Tabs } from "@mantine/core";
import { useCallback, useRef, useState } from "react";
import type { LiveSample } from "../api/live";
import { useAddressState } from "../ui/address";
import { Page } from "../ui/Page";
import { ExplainedRequests } from "./ExplainedRequests";
import { LiveRates } from "./LiveRates";
import { LiveRequests } from "./LiveRequests";

const keptMax = 200; // BOUND: requests that are kept.

export default function Live() {
  const [tab, setTab] = useAddressState("tab", "now");
  const [paused, setPaused] = useState(false);
  const [samples, setSamples] = useState<LiveSample[]>([]);
  const waits = useRef(false);
  waits.current = paused;
  const add = useCallback((sample: LiveSample) => {
    if (!waits.current) setSamples((all) => [sample, ...all.slice(0, keptMax - 1)]);
  }, []);
  return (
    <Page
      title="Live auctions"
      actions={
        <Button variant="default" onClick={() => setPaused(!paused)}>
          {paused ? "Continue" : "Pause"}
        </Button>
      }
      about="What storefronts ask for right now: a sample of much traffic. The rates count everything."
    >
      <LiveRates sample={add} />
      <Tabs value={tab} onChange={(value) => setTab(value ?? "now")}>
        <Tabs.List>
          <Tabs.Tab value="now">Requests</Tabs.Tab>
          <Tabs.Tab value="explained">Explained as they happened</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="now" pt="md">
          <LiveRequests samples={samples} />
        </Tabs.Panel>
        <Tabs.Panel value="explained" pt="md">
          {tab === "explained" && <ExplainedRequests paused={paused} />}
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
