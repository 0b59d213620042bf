// Settings: those of the marketplace, which can be changed here, and those of the node, which come from its
// configuration. An experiment is run here, and what is stored of a customer is erased, too.
import { Tabs } from "@mantine/core";
import { useCurrent } from "../api/session";
import { useAddressState } from "../ui/address";
import { Page } from "../ui/Page";
import { EraseCustomer } from "./EraseCustomer";
import { Experiment } from "./Experiment";
import { MarketplaceSettings } from "./MarketplaceSettings";
import { NodeSettings } from "./NodeSettings";

export default function Settings() {
  const { role } = useCurrent();
  const [tab, setTab] = useAddressState("tab", "marketplace");
  return (
    <Page title="Settings">
      <Tabs value={tab} onChange={(value) => setTab(value ?? "marketplace")} keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="marketplace">Marketplace</Tabs.Tab>
          <Tabs.Tab value="experiment">Experiment</Tabs.Tab>
          {role === "admin" && <Tabs.Tab value="erase">Erase a customer</Tabs.Tab>}
          {role === "admin" && <Tabs.Tab value="node">This node</Tabs.Tab>}
        </Tabs.List>
        <Tabs.Panel value="marketplace" pt="md">
          <MarketplaceSettings />
        </Tabs.Panel>
        <Tabs.Panel value="experiment" pt="md">
          <Experiment />
        </Tabs.Panel>
        {role === "admin" && (
          <Tabs.Panel value="erase" pt="md">
            <EraseCustomer />
          </Tabs.Panel>
        )}
        {role === "admin" && (
          <Tabs.Panel value="node" pt="md">
            <NodeSettings />
          </Tabs.Panel>
        )}
      </Tabs>
    </Page>
  );
}
