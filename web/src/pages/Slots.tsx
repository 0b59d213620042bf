// Media slots, in which banners appear, and their fallback banners.
import {
  Anchor,
  Button,
  Group,
  Modal,
  NumberInput,
  Select,
  SimpleGrid,
  Stack,
  Switch,
  Text,
  TextInput,
} from "@mantine/core";
import { useState } from "react";
import { call } from "../api/client";
import { useRead, useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { DataTable, useCursor } from "../ui/DataTable";
import { FormDialog } from "../ui/Dialog";
import { Empty, Loaded } from "../ui/States";
import { useFill } from "./RecentFill";

type Slot = Schemas["slot.Slot"];

const sizeOf = (size: Schemas["slot.Size"] | undefined) => (size ? `${size.width} × ${size.height}` : "–");

export function Slots() {
  const { canWrite } = useCurrent();
  const cursor = useCursor();
  const slots = useRead("GET /media-service/slots", { query: { limit: 25, next_page: cursor.page } }, { keep: true });
  const fill = useFill("banners");
  const [picked, setPicked] = useState<Slot | null>(null);
  const [adding, setAdding] = useState(false);
  const add = canWrite && <Button onClick={() => setAdding(true)}>Create slot</Button>;
  return (
    <Stack>
      {slots.data && slots.data.slots.length > 0 && <Group>{add}</Group>}
      <DataTable
        label="Slots"
        rows={slots.data?.slots}
        rowKey={(one) => one.id}
        error={slots.error}
        minWidth={760}
        retry={() => void slots.refetch()}
        pager={cursor.pager(slots.data?.nextPage)}
        empty={
          <Empty title="There are no slots" action={add}>
            Banner campaigns bid for slots.
          </Empty>
        }
        columns={[
          {
            name: "Slot",
            cell: (one) => (
              <Anchor component="button" type="button" ta="left" onClick={() => setPicked(one)}>
                {one.externalId}
              </Anchor>
            ),
          },
          { name: "Position", cell: (one) => one.position.replaceAll("_", " ") },
          { name: "Desktop", cell: (one) => sizeOf(one.dimensions.desktop) },
          { name: "Mobile", cell: (one) => sizeOf(one.dimensions.mobile) },
          { name: "Recent fill", align: "right", cell: (one) => fill.cell(one.externalId) },
          { name: "Active", cell: (one) => <ActiveSwitch slot={one} /> },
        ]}
      />
      {slots.data && slots.data.slots.length > 0 && fill.about}
      <Modal
        opened={picked !== null}
        onClose={() => setPicked(null)}
        size="lg"
        title={picked ? `Fallback banners of ${picked.externalId}` : ""}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        {picked && <Fallbacks slot={picked} />}
      </Modal>
      {adding && <Create close={() => setAdding(false)} />}
    </Stack>
  );
}

function ActiveSwitch({ slot }: { slot: Slot }) {
  const { canWrite } = useCurrent();
  const change = useWrite(
    (isActive: boolean) =>
      call("PATCH /media-service/slots/{slot_id}", { path: { slot_id: slot.id }, body: { isActive } }),
    "/media-service",
  );
  return (
    <>
      <Switch
        checked={change.isPending ? change.variables : slot.isActive}
        disabled={!canWrite}
        aria-label={`${slot.externalId} is active`}
        onChange={(event) => change.mutate(event.currentTarget.checked)}
      />
      {change.error && (
        <Text size="xs" c="red" role="alert">
          {change.error.message}
        </Text>
      )}
    </>
  );
}

function Fallbacks({ slot }: { slot: Slot }) {
  const fallbacks = useRead("GET /media-service/slots/{slot_id}/fallback", { path: { slot_id: slot.id } });
  return (
    <Loaded of={fallbacks} lines={2}>
      {(data) => (
        <DataTable
          label="Fallback banners"
          rows={data.results}
          rowKey={(one, i) => `${one.url}-${i}`}
          empty={
            <Empty title="No fallback banner">
              Without a winner the slot stays empty. Fallbacks are set through the API.
            </Empty>
          }
          columns={[
            { name: "Device", cell: (one) => one.deviceType },
            { name: "Size", cell: (one) => `${one.width} × ${one.height}` },
            { name: "Leads to", cell: (one) => `${one.destination.destinationType} ${one.destination.destinationId}` },
            {
              name: "File",
              cell: (one) => (
                <Text size="sm" style={{ overflowWrap: "anywhere" }}>
                  {one.url}
                </Text>
              ),
            },
          ]}
        />
      )}
    </Loaded>
  );
}

function Create({ close }: { close: () => void }) {
  const [id, setId] = useState("");
  const [position, setPosition] = useState<string | null>("landing");
  const [desktop, setDesktop] = useState({ width: 1200, height: 300 });
  const [mobile, setMobile] = useState({ width: 320, height: 100 });
  const create = useWrite(
    () =>
      call("POST /media-service/slots", {
        body: { slotId: id, position: position as "landing", dimensions: { desktop, mobile } },
      }),
    "/media-service",
  );
  return (
    <FormDialog
      title="Create a slot"
      opened
      close={close}
      submitLabel="Create slot"
      busy={create.isPending}
      error={create.error}
      submit={() => create.mutate(undefined, { onSuccess: close })}
    >
      <TextInput
        label="Id of the storefront"
        description="Auctions name the slot with it"
        required
        value={id}
        data-autofocus
        onChange={(event) => setId(event.currentTarget.value)}
      />
      <Select
        label="Position"
        required
        value={position}
        onChange={setPosition}
        allowDeselect={false}
        data={["landing", "category", "search", "category_search"].map((value) => ({
          value,
          label: value.replaceAll("_", " "),
        }))}
      />
      <SimpleGrid cols={2}>
        <NumberInput
          label="Desktop width"
          min={1}
          value={desktop.width}
          onChange={(v) => setDesktop({ ...desktop, width: Number(v) })}
        />
        <NumberInput
          label="Desktop height"
          min={1}
          value={desktop.height}
          onChange={(v) => setDesktop({ ...desktop, height: Number(v) })}
        />
        <NumberInput
          label="Mobile width"
          min={1}
          value={mobile.width}
          onChange={(v) => setMobile({ ...mobile, width: Number(v) })}
        />
        <NumberInput
          label="Mobile height"
          min={1}
          value={mobile.height}
          onChange={(v) => setMobile({ ...mobile, height: Number(v) })}
        />
      </SimpleGrid>
    </FormDialog>
  );
}
