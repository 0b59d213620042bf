// What shows an asset, and its deletion, which the node refuses while something does.
import { Anchor, Button, Modal, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { Link } from "react-router";
import { call } from "../api/client";
import { useRead, useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { DataTable } from "../ui/DataTable";
import { ConfirmButton } from "../ui/Dialog";
import { Loaded } from "../ui/States";

type Asset = Schemas["asset.Asset"];

// AssetUses opens the list of what shows an asset. It is read when it is opened, because the node reads all banners of the
// vendor for it.
export function AssetUses({ asset }: { asset: Asset }) {
  const [opened, setOpened] = useState(false);
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setOpened(true)} aria-label={`Uses of ${asset.name}`}>
        Uses
      </Button>
      <Modal
        opened={opened}
        onClose={() => setOpened(false)}
        title={`Uses of ${asset.name}`}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        {opened && <Uses asset={asset} />}
      </Modal>
    </>
  );
}

function Uses({ asset }: { asset: Asset }) {
  const uses = useRead("GET /assets/asset/{asset_id}/uses", { path: { asset_id: asset.id } });
  return <Loaded of={uses}>{(data) => <UseTable of={data} />}</Loaded>;
}

function UseTable({ of }: { of: Schemas["asset.Uses"] }) {
  const { vendorId } = useCurrent();
  const rows = [
    ...of.slots.map(({ id, externalId }) => ({ id, kind: "Fallback of slot", name: externalId, to: slotsPath })),
    ...of.campaigns.map(({ campaignId, name }) => ({
      id: campaignId,
      kind: "Bid of campaign",
      name,
      to: `/campaigns/${campaignId}`,
    })),
  ];
  return (
    <Stack gap="sm">
      <DataTable
        label="What shows the asset"
        rows={rows}
        rowKey={({ id }) => id}
        minWidth={300}
        empty={
          <Text size="sm">
            Nothing shows it: no fallback of a slot, and no bid of a campaign that is not terminated. It can be deleted.
          </Text>
        }
        columns={[
          { name: "Shown by", cell: ({ kind }) => kind },
          {
            name: "Name",
            cell: ({ name, to }) =>
              vendorId && to === slotsPath ? (
                name // The page of the slots is closed to a vendor.
              ) : (
                <Anchor component={Link} to={to} size="sm" style={{ overflowWrap: "anywhere" }}>
                  {name}
                </Anchor>
              ),
          },
        ]}
      />
      {of.hasMore && (
        <Text size="sm" c="dimmed">
          More slots or campaigns show it: the newest {Math.max(of.slots.length, of.campaigns.length)} of each are listed.
        </Text>
      )}
    </Stack>
  );
}

const slotsPath = "/placements?tab=slots";

export function DeleteAsset({ asset }: { asset: Asset }) {
  const { canWrite } = useCurrent();
  const remove = useWrite(() => call("DELETE /assets/asset/{asset_id}", { path: { asset_id: asset.id } }), "/assets");
  if (!canWrite) return null;
  return (
    <ConfirmButton
      label="Delete"
      subject={asset.name}
      title={`Delete ${asset.name}?`}
      question="Its file is deleted, too. The node refuses this while a slot or a campaign shows the asset."
      run={() => remove.mutateAsync(undefined)}
    />
  );
}
