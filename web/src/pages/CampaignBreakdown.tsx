// Where a campaign's ads were shown and clicked, by a dimension of choice.
import { Group, SegmentedControl, Stack, Title } from "@mantine/core";
import type { Schemas } from "../api/schema";
import { useAddressState } from "../ui/address";
import { Breakdown, dimensions, type Dimension } from "./Breakdown";

interface CampaignBreakdownProps {
  campaign: Schemas["campaign.Campaign"];
  range: { start_date: string; end_date: string };
  title: string;
}

export function CampaignBreakdown({ campaign, range, title }: CampaignBreakdownProps) {
  const [chosen, setChosen] = useAddressState("by", "device");
  const own: Dimension[] = campaign.adFormat === "listing" ? ["placement", "keyword"] : ["slot"];
  const choices: Dimension[] = ["device", "channel", ...own];
  const by = choices.find((one) => one === chosen) ?? "device";
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Title order={2} size="h5">
          {title}
        </Title>
        <SegmentedControl
          aria-label="Break down by"
          size="xs"
          value={by}
          onChange={(value) => setChosen(value)}
          data={choices.map((value) => ({ value, label: dimensions[value].label }))}
        />
      </Group>
      <Breakdown key={by} by={by} range={range} campaign={campaign.campaignId} />
    </Stack>
  );
}
