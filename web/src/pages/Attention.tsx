// What needs a person: a short list, each line with the page that mends it.
import { Anchor, Group, Paper, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { useRead } from "../api/query";
import { useCurrent } from "../api/session";
import { formatMoney } from "../ui/money";
import { State } from "../ui/Badges";

const scannedMax = 100; // BOUND: campaigns and assets that are read for the list.
const shownMax = 8;

interface Item {
  key: string;
  state: string;
  to: string;
  name: string;
  text: ReactNode;
}

export function Attention() {
  const { marketplace, vendorId } = useCurrent();
  const own = vendorId ? { vendor_id: vendorId } : {};
  const campaigns = useRead("GET /campaign-service/campaigns", {
    query: { ...own, is_active: true, limit: scannedMax },
  });
  const waiting = useRead("GET /assets/assets", { query: { ...own, status: "pending_approval", limit: 20 } });
  const rejected = useRead("GET /assets/assets", { query: { ...own, status: "rejected", limit: 20 } });
  const pending = useRead("GET /campaign-service/campaigns", { query: { ...own, status: "pending", limit: 20 } });
  if (!campaigns.data || !waiting.data || !rejected.data || !pending.data) return null;

  const items: Item[] = [
    ...pending.data.campaigns.map((one) => ({
      key: one.campaignId,
      state: "pending",
      to: `/campaigns/${one.campaignId}`,
      name: one.name,
      text: "the campaign awaits approval",
    })),
    ...waiting.data.assets.map((one) => ({
      key: one.id,
      state: "pending_approval",
      to: "/assets?status=pending_approval",
      name: one.name,
      text: "the asset awaits approval",
    })),
    ...rejected.data.assets.map((one) => ({
      key: one.id,
      state: "rejected",
      to: "/assets?status=rejected",
      name: one.name,
      text: "the asset was rejected, and banners do not show it",
    })),
    ...campaigns.data.campaigns
      .filter((one) => one.budget && one.budget.amountRemaining * 20 < one.budget.amount)
      .map((one) => ({
        key: one.campaignId,
        state: "limitedByBudget",
        to: `/campaigns/${one.campaignId}`,
        name: one.name,
        text: `${formatMoney(one.budget?.amountRemaining ?? 0, marketplace)} of the ${one.budget?.type} budget left`,
      })),
    ...campaigns.data.campaigns
      .filter((one) => one.pacingState?.status === "limitedByWallet")
      .map((one) => ({
        key: `${one.campaignId}-wallet`,
        state: "limitedByWallet",
        to: `/vendors/${encodeURIComponent(one.vendorId)}`,
        name: one.name,
        text: "the wallet will be empty before the budget is spent",
      })),
    ...campaigns.data.campaigns
      .filter((one) => (one.pacingState?.lostValueEstimate ?? 0) > 0)
      .sort((a, b) => (b.pacingState?.lostValueEstimate ?? 0) - (a.pacingState?.lostValueEstimate ?? 0))
      .map((one) => ({
        key: `${one.campaignId}-pacing`,
        state: one.pacingState?.status ?? "limitedByBudget",
        to: `/campaigns/${one.campaignId}`,
        name: one.name,
        text: `a budget of ${formatMoney(one.pacingState?.suggestedBudget ?? 0, marketplace)} would not hold it back`,
      })),
  ];
  return (
    <Paper withBorder radius="md" p="lg">
      <Title order={2} size="h4" mb="sm">
        Needs attention
      </Title>
      {items.length === 0 && <Text c="dimmed">Nothing does.</Text>}
      <Stack gap="xs">
        {items.slice(0, shownMax).map((item) => (
          <Group key={item.key} gap="sm">
            <State of={item.state} />
            <Anchor component={Link} to={item.to} style={{ overflowWrap: "anywhere" }}>
              {item.name}
            </Anchor>
            <Text size="sm" c="dimmed">
              {item.text}
            </Text>
          </Group>
        ))}
        {items.length > shownMax && (
          <Text size="sm" c="dimmed">
            {items.length - shownMax} more; see{" "}
            <Anchor component={Link} to="/campaigns">
              campaigns
            </Anchor>
            .
          </Text>
        )}
      </Stack>
    </Paper>
  );
}
