import { Switch, Text, Tooltip } from "@mantine/core";
import { useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { patchCampaign } from "./campaignChanges";

// CampaignSwitch pauses and resumes a campaign. Auctions of every node follow within a second.
export function CampaignSwitch({ campaign, label }: { campaign: Schemas["campaign.Campaign"]; label?: string }) {
  const { canWrite, vendorId } = useCurrent();
  const change = useWrite(
    (isActive: boolean) => patchCampaign(campaign, { isActive }, vendorId),
    "/campaign-service/campaigns",
  );
  const shown = change.isPending ? change.variables : campaign.isActive;
  return (
    <>
      <Tooltip label={change.error?.message ?? ""} disabled={!change.error}>
        <Switch
          checked={shown}
          disabled={!canWrite || campaign.status === "terminated"}
          label={label}
          aria-label={label ? undefined : `${campaign.name} is active`}
          onChange={(event) => change.mutate(event.currentTarget.checked)}
        />
      </Tooltip>
      {change.error && (
        <Text size="xs" c="red" role="alert" maw={200}>
          {change.error.message}
        </Text>
      )}
    </>
  );
}
