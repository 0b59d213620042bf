// One campaign: its spend against plan, performance by day, bids, forecast, and what can be changed.
import { Alert, Button, Group, Paper, SimpleGrid, Stack, Tabs, Text } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { useNavigate, useParams } from "react-router";
import { useRead, useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent, type SessionMarketplace } from "../api/session";
import { useAddressState } from "../ui/address";
import { State } from "../ui/Badges";
import { Identifier } from "../ui/Copy";
import { ConfirmButton } from "../ui/Dialog";
import { formatMoney, formatShare, type Currency } from "../ui/money";
import { Page } from "../ui/Page";
import { Loaded } from "../ui/States";
import { Time } from "../ui/time";
import { deleteCampaign, patchCampaign } from "./campaignChanges";
import { CampaignBids } from "./CampaignBids";
import { CampaignForecast } from "./CampaignForecast";
import { CampaignPerformance } from "./CampaignPerformance";
import { Spend, statusOf } from "./Campaigns";
import { CampaignSwitch } from "./CampaignSwitch";
import { EditCampaign } from "./EditCampaign";
import { Named, useNames } from "./names";

type Campaign = Schemas["campaign.Campaign"];

export default function CampaignPage() {
  const { id = "" } = useParams();
  const campaign = useRead(
    "GET /campaign-service/campaigns/{campaign_id}",
    { path: { campaign_id: id } },
    { every: 10_000 },
  );
  const [tab, setTab] = useAddressState("tab", "performance");
  const { marketplace, canWrite } = useCurrent();
  const [editing, setEditing] = useState(false);
  const back = { to: "/campaigns", label: "Campaigns" };
  if (!campaign.data)
    return (
      <Page title="Campaign" back={back}>
        <Loaded of={campaign}>{() => null}</Loaded>
      </Page>
    );
  const one = campaign.data;
  return (
    <Page
      title={one.name}
      back={back}
      actions={
        canWrite &&
        one.status !== "terminated" && (
          <>
            <CampaignSwitch campaign={one} label="Active" />
            <Button variant="default" onClick={() => setEditing(true)}>
              Edit
            </Button>
            <Review campaign={one} />
            <Terminate campaign={one} />
          </>
        )
      }
    >
      <Facts campaign={one} currency={marketplace} />
      <Pacing campaign={one} currency={marketplace} />
      <Tabs value={tab} onChange={(value) => setTab(value ?? "performance")} keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="performance">Performance</Tabs.Tab>
          <Tabs.Tab value="bids">Bids ({one.bidCount.toLocaleString()})</Tabs.Tab>
          <Tabs.Tab value="forecast">Forecast</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="performance" pt="md">
          <CampaignPerformance campaign={one} />
        </Tabs.Panel>
        <Tabs.Panel value="bids" pt="md">
          <CampaignBids campaign={one} />
        </Tabs.Panel>
        <Tabs.Panel value="forecast" pt="md">
          <CampaignForecast campaign={one} />
        </Tabs.Panel>
      </Tabs>
      {editing && <EditCampaign campaign={one} close={() => setEditing(false)} />}
    </Page>
  );
}

function Facts({ campaign: one, currency }: { campaign: Campaign; currency: SessionMarketplace }) {
  const { vendorId } = useCurrent();
  const vendors = useNames("vendor", vendorId ? [] : [one.vendorId]); // The list of vendors is closed to a vendor.
  const facts: [string, ReactNode][] = [
    ["State", <State key="state" of={statusOf(one)} />],
    ["Spend of the budget", <Spend key="spend" of={one} currency={currency} />],
    [
      "Vendor",
      <Named key="vendor" kind="vendor" id={one.vendorId} names={vendors} />,
    ],
    ["Format", one.adFormat.replaceAll("_", " ")],
    ["Billing", `${one.chargeType}, ${one.priceRule} price`],
    ["Pacing", one.pacing === "asap" ? "as soon as possible" : "even"],
    ["Starts", <Time key="start" at={one.startDate} />],
    ["Ends", <Time key="end" at={one.endDate} />],
    ...(one.targetRoas === null ? [] : [["Target return on ad spend", String(one.targetRoas)] as [string, ReactNode]]),
    ...(one.holdoutPercent === 0
      ? []
      : [["Holdout", `${one.holdoutPercent} % of users never see it`] as [string, ReactNode]]),
    ["Identifier", <Identifier key="id" value={one.campaignId} />],
  ];
  return (
    <Paper withBorder radius="md" p="lg">
      <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
        {facts.map(([name, value]) => (
          <Stack key={name} gap={2}>
            <Text size="sm" c="dimmed">
              {name}
            </Text>
            <Text component="div">{value}</Text>
          </Stack>
        ))}
      </SimpleGrid>
    </Paper>
  );
}

function Pacing({ campaign, currency }: { campaign: Campaign; currency: Currency }) {
  const state = campaign.pacingState;
  if (!state || state.status === "notPaced" || state.status === "onPlan") return null;
  return (
    <Alert color="orange" title={pacingTitles[state.status]}>
      <Group gap="md">
        <Text size="sm">{pacingAdvice[state.status]}</Text>
        {state.skippedShare > 0 && (
          <Text size="sm">It skips {formatShare(state.skippedShare)} of the auctions it could compete in.</Text>
        )}
        {state.meanMultiplier < 1 && (
          <Text size="sm">Its bids are lowered to {formatShare(state.meanMultiplier)} on average.</Text>
        )}
        {state.suggestedBudget > 0 && state.status === "limitedByBudget" && (
          <Text size="sm">A budget of {formatMoney(state.suggestedBudget, currency)} would not hold it back.</Text>
        )}
      </Group>
    </Alert>
  );
}

const pacingTitles: Record<string, string> = {
  limitedByBudget: "The budget limits this campaign",
  limitedByBid: "The bids limit this campaign",
  limitedByReturn: "The target return limits this campaign",
  limitedByWallet: "The wallet limits this campaign",
};

const pacingAdvice: Record<string, string> = {
  limitedByBudget: "It could win more than its budget pays for.",
  limitedByBid: "It spends less than its budget allows: higher bids or more products would win more.",
  limitedByReturn: "It spends less than its budget allows, so that sales keep the return: a lower target would win more.",
  limitedByWallet: "The wallet will be empty before the budget is spent: add money to it.",
};

const paths = "/campaign-service/campaigns";

function Review({ campaign }: { campaign: Campaign }) {
  const { canWrite, vendorId } = useCurrent();
  const change = useWrite((status: "approved" | "rejected") => patchCampaign(campaign, { status }), paths);
  if (vendorId || !canWrite || campaign.status !== "pending") return null;
  return (
    <>
      <Button onClick={() => change.mutate("approved")} loading={change.isPending}>
        Approve
      </Button>
      <ConfirmButton
        label="Reject"
        size="sm"
        title="Reject the campaign?"
        question="It competes in no auction until it is approved."
        run={() => change.mutateAsync("rejected")}
      />
    </>
  );
}

function Terminate({ campaign }: { campaign: Campaign }) {
  const navigate = useNavigate();
  const { vendorId } = useCurrent();
  const remove = useWrite(() => deleteCampaign(campaign, vendorId), paths);
  const run = async () => {
    await remove.mutateAsync(undefined);
    void navigate("/campaigns");
  };
  return (
    <ConfirmButton
      label="Terminate"
      size="sm"
      title={`Terminate ${campaign.name}?`}
      run={run}
      question="The campaign leaves all auctions for ever. Its reports stay. To stop it for a while, pause it."
    />
  );
}
