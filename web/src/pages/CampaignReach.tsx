// How many different users a campaign reached.
import { Button, Group, Stack, Text, Title } from "@mantine/core";
import { useState } from "react";
import { useRead } from "../api/query";
import type { Schemas } from "../api/schema";
import { Figures } from "../ui/Figures";
import { formatCount } from "../ui/money";
import { Loaded } from "../ui/States";
import { Time } from "../ui/time";

interface ReachProps {
  campaign: Schemas["campaign.Campaign"];
  range: { start_date: string; end_date: string };
  title: string;
}

// CampaignReach counts when somebody asks for it, because the node reads all clicks and impressions of the days for it.
export function CampaignReach({ campaign, range, title }: ReachProps) {
  const [asked, setAsked] = useState("");
  const question = `${campaign.campaignId} ${range.start_date} ${range.end_date}`;
  const reach = useRead(
    "GET /reporting-service/campaigns/{campaign_id}/reach",
    { path: { campaign_id: campaign.campaignId }, query: range },
    { enabled: asked === question },
  );
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Title order={2} size="h5">
          {title}
        </Title>
        {asked !== question && (
          <Button size="xs" variant="default" onClick={() => setAsked(question)}>
            Count users
          </Button>
        )}
      </Group>
      {asked === question ? (
        <Loaded of={reach}>{(data) => <Counted of={data} />}</Loaded>
      ) : (
        <Text size="sm" c="dimmed">
          Different users who saw, clicked and bought. The count takes some seconds where there are many.
        </Text>
      )}
    </Stack>
  );
}

function Counted({ of }: { of: Schemas["report.Reach"] }) {
  return (
    <Stack gap="sm">
      <Figures
        of={[
          { label: "Users reached", value: formatCount(of.reached), note: "with an impression" },
          { label: "Frequency", value: of.frequency === null ? "–" : of.frequency.toFixed(2), note: "impressions for each of them" },
          { label: "Users who clicked", value: formatCount(of.clicked) },
          {
            label: "Users who bought",
            value: of.bought === null ? "–" : formatCount(of.bought),
            note: of.bought === null ? "not known for days so long ago" : "what was credited to its ads",
          },
        ]}
      />
      <Text size="sm" c="dimmed" component="div">
        {of.incomplete && "Some user had 100 impressions or clicks on a day; further ones are not in these numbers. "}
        Users who were erased are not counted. Complete to <Time at={of.completeThrough} format="full" />.
      </Text>
    </Stack>
  );
}
