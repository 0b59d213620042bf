// What the campaign would bring per day with other bids, computed from recorded auctions of the node.
import { Alert, Group, NumberInput, Stack, Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";
import { useRead } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { Figures } from "../ui/Figures";
import { formatCount, formatMoney } from "../ui/money";
import { Loaded } from "../ui/States";
import { Time } from "../ui/time";

type Forecast = Schemas["forecast.Forecast"];
type Estimate = Schemas["forecast.Estimate"];

const reasonTexts: Record<string, string> = {
  not_recording: "This node does not record auctions; its setting explain.sample switches that on.",
  no_auctions: "No auction has been recorded yet.",
  too_short: "Too little time has been recorded. Come back in some minutes.",
};

export function CampaignForecast({ campaign }: { campaign: Schemas["campaign.Campaign"] }) {
  const { marketplace } = useCurrent();
  const [percent, setPercent] = useState(100);
  const [asked] = useDebouncedValue(percent, 400);
  const forecast = useRead(
    "GET /campaign-service/campaigns/{campaign_id}/forecast",
    {
      path: { campaign_id: campaign.campaignId },
      query: { bid_percent: asked },
    },
    { keep: true },
  );
  const money = (n: number) => formatMoney(n, marketplace);
  return (
    <Stack>
      <Group>
        <NumberInput
          label="All bids at"
          suffix=" %"
          min={1}
          max={1_000}
          step={10}
          value={percent}
          w={130}
          onChange={(value) => setPercent(Math.min(1_000, Math.max(1, Number(value) || 100)))}
        />
      </Group>
      <Loaded of={forecast}>{(answer) => <Answer of={answer} money={money} />}</Loaded>
    </Stack>
  );
}

function Answer({ of, money }: { of: Forecast; money: (n: number) => string }) {
  const perDay = of.perDay as Schemas["forecast.PerDay"] | null;
  if (!perDay)
    return (
      <Alert color="gray" title="No forecast">
        {reasonTexts[of.reason] ?? of.reason}
      </Alert>
    );
  const range = (estimate: unknown, format: (n: number) => string) => {
    const e = estimate as Estimate | null;
    return e ? { value: format(e.expected), note: `${format(e.low)} to ${format(e.high)}` } : { value: "–" };
  };
  return (
    <Stack>
      <Figures
        of={[
          { label: "Wins a day", ...range(perDay.wins, formatCount) },
          { label: "Impressions a day", ...range(perDay.impressions, formatCount) },
          { label: "Clicks a day", ...range(perDay.clicks, formatCount) },
          { label: "Spend a day", ...range(perDay.spend, money) },
        ]}
      />
      {perDay.limitedByBudget && <Alert color="orange">The budget would be spent before the day ends.</Alert>}
      <Text size="sm" c="dimmed" component="div">
        From {formatCount(of.recorded.auctions)} auctions recorded from <Time at={of.recorded.from} /> to{" "}
        <Time at={of.recorded.to} />; the ranges hold with {of.confidence} % confidence. Rates are those of the{" "}
        {of.rates.of}.
      </Text>
    </Stack>
  );
}
