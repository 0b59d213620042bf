// Assets: the files of ads, their review, what shows them, and uploads.
import { Badge, Box, Button, Card, Group, Image, Select, SimpleGrid, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { useRead } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { useAddressState } from "../ui/address";
import { State } from "../ui/Badges";
import { useCursor } from "../ui/DataTable";
import { Page } from "../ui/Page";
import { Empty, Loaded } from "../ui/States";
import { Time } from "../ui/time";
import { AssetUses, DeleteAsset } from "./AssetUses";
import { ReviewAsset } from "./ReviewAsset";
import { UploadAsset } from "./UploadAsset";

type Asset = Schemas["asset.Asset"];

const states: Asset["status"][] = ["pending_upload", "pending_approval", "upload_error", "approved", "rejected"];

export default function Assets() {
  const { canWrite, vendorId } = useCurrent();
  const cursor = useCursor();
  const [status, setStatus] = useAddressState("status", "");
  const [vendor, setVendor] = useAddressState("vendor", "");
  const [adding, setAdding] = useState(false);
  const assets = useRead(
    "GET /assets/assets",
    {
      query: {
        limit: 24,
        next_page: cursor.page,
        vendor_id: vendorId ?? (vendor || undefined),
        status: (status || undefined) as Asset["status"] | undefined,
      },
    },
    { keep: true },
  );
  const add = canWrite && <Button onClick={() => setAdding(true)}>Upload asset</Button>;
  return (
    <Page
      title="Assets"
      actions={add}
      about="Files of banners and sponsored brands. Nothing is served in an ad before it is approved."
    >
      <Group align="flex-end" gap="sm">
        <Select
          label="Status"
          placeholder="All"
          clearable
          w={190}
          value={status || null}
          onChange={(value) => {
            cursor.reset();
            setStatus(value ?? "");
          }}
          data={states.map((value) => ({ value, label: value.replaceAll("_", " ") }))}
        />
        {!vendorId && (
          <TextInput
            label="Vendor"
            placeholder="Vendor id"
            w={150}
            defaultValue={vendor}
            onBlur={(event) => setVendor(event.currentTarget.value)}
            onKeyDown={(event) => event.key === "Enter" && setVendor(event.currentTarget.value)}
          />
        )}
      </Group>
      <Loaded of={assets}>
        {(data) => (
          <>
            {data.assets.length === 0 &&
              (status || vendor ? (
                <Empty title="No asset fits the filter" />
              ) : (
                <Empty title="There are no assets" action={add}>
                  Banner campaigns need one.
                </Empty>
              ))}
            <SimpleGrid cols={{ base: 1, xs: 2, md: 3, lg: 4 }}>
              {data.assets.map((asset) => (
                <AssetCard key={asset.id} asset={asset} />
              ))}
            </SimpleGrid>
            {cursor.pager(data.nextPage)}
          </>
        )}
      </Loaded>
      {adding && <UploadAsset close={() => setAdding(false)} />}
    </Page>
  );
}

function AssetCard({ asset }: { asset: Asset }) {
  return (
    <Card withBorder radius="md" padding="sm">
      <Card.Section withBorder>
        <Picture asset={asset} />
      </Card.Section>
      <Group justify="space-between" mt="sm" gap="xs">
        <Text fw={600} style={{ overflowWrap: "anywhere" }}>
          {asset.name}
        </Text>
        <State of={asset.status} />
      </Group>
      <Text size="sm" c="dimmed">
        {asset.mimetype ?? "no file yet"} · vendor {asset.vendorId || "none"}
      </Text>
      {asset.reason && <Text size="sm">Reason: {asset.reason}</Text>}
      <Text size="xs" c="dimmed" mt={4} component="div">
        <Time at={asset.createdAt} />
      </Text>
      <ReviewAsset asset={asset} />
      <Group mt="sm" gap="xs">
        <AssetUses asset={asset} />
        <DeleteAsset asset={asset} />
      </Group>
    </Card>
  );
}

// localAddress is the path of a file that this node serves, or undefined: the console loads nothing from elsewhere.
export function localAddress(asset: Asset): string | undefined {
  const address = asset.previewUrl ?? asset.url;
  if (!address || asset.isExternal) return undefined;
  try {
    const url = new URL(address, window.location.origin);
    return url.pathname.startsWith("/assets/") ? url.pathname + url.search : undefined;
  } catch {
    return undefined;
  }
}

function Picture({ asset }: { asset: Asset }) {
  const [failed, setFailed] = useState(false);
  const address = localAddress(asset);
  if (address && asset.mimetype?.startsWith("image/") && !failed && asset.status !== "pending_upload") {
    return <Image src={address} alt={asset.name} h={140} fit="contain" onError={() => setFailed(true)} />;
  }
  return (
    <Box h={140} p="sm" style={{ display: "grid", placeItems: "center" }} bg="var(--mantine-color-default-hover)">
      <Text size="sm" c="dimmed" ta="center" style={{ overflowWrap: "anywhere" }} component="div">
        {asset.isExternal ? (
          <>
            <Badge variant="default" tt="none">
              on another server
            </Badge>
            <br />
            {asset.url}
          </>
        ) : (
          (asset.mimetype ?? "no file")
        )}
      </Text>
    </Box>
  );
}
