// Placements of sponsored brands, and the media slots of banners: where ads appear.
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
  Tabs,
  Text,
  Textarea,
  TextInput,
  Title,
} from "@mantine/core";
import { useState } from "react";
import { Link } from "react-router";
import { call } from "../api/client";
import { useRead, useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { useAddressState } from "../ui/address";
import { DataTable, useCursor } from "../ui/DataTable";
import { FormDialog } from "../ui/Dialog";
import { exampleOf, fill } from "../ui/fill";
import { Page } from "../ui/Page";
import { Preview } from "../ui/Preview";
import { Empty, Failure } from "../ui/States";
import { useFill } from "./RecentFill";
import { Slots } from "./Slots";

type Placement = Schemas["placement.Placement"];

export default function Placements() {
  const [tab, setTab] = useAddressState("tab", "placements");
  return (
    <Page title="Placements" about="Where ads appear: placements hold sponsored brands, slots hold banners.">
      <Tabs value={tab} onChange={(value) => setTab(value ?? "placements")} keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="placements">Sponsored brands</Tabs.Tab>
          <Tabs.Tab value="slots">Banner slots</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="placements" pt="md">
          <List />
        </Tabs.Panel>
        <Tabs.Panel value="slots" pt="md">
          <Slots />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

function List() {
  const { canWrite } = useCurrent();
  const cursor = useCursor();
  const placements = useRead(
    "GET /placement-service/placements",
    { query: { limit: 25, next_page: cursor.page } },
    { keep: true },
  );
  const fill = useFill("brand");
  const [picked, setPicked] = useState<Placement | null>(null);
  const [adding, setAdding] = useState(false);
  const add = canWrite && <Button onClick={() => setAdding(true)}>Create placement</Button>;
  return (
    <Stack>
      {placements.data && placements.data.placements.length > 0 && <Group>{add}</Group>}
      <DataTable
        label="Placements"
        rows={placements.data?.placements}
        rowKey={(one) => one.placementId}
        error={placements.error}
        minWidth={860}
        retry={() => void placements.refetch()}
        pager={cursor.pager(placements.data?.nextPage)}
        empty={
          <Empty title="There are no placements" action={add}>
            A placement needs a{" "}
            <Anchor component={Link} to="/templates">
              template
            </Anchor>{" "}
            first.
          </Empty>
        }
        columns={[
          {
            name: "Placement",
            cell: (one) => (
              <Anchor component="button" type="button" ta="left" onClick={() => setPicked(one)}>
                {one.name}
              </Anchor>
            ),
          },
          {
            name: "Id of the storefront",
            cell: (one) => (
              <Text size="sm" ff="monospace">
                {one.externalPlacementId}
              </Text>
            ),
          },
          { name: "Template", cell: (one) => one.jsonTemplate.name },
          { name: "Products", cell: (one) => `${one.products.min} to ${one.products.max}` },
          {
            name: "Recent fill",
            align: "right",
            cell: (one) => fill.cell(one.externalPlacementId, one.placementId),
          },
          { name: "Active", cell: (one) => <ActiveSwitch placement={one} /> },
        ]}
      />
      {placements.data && placements.data.placements.length > 0 && fill.about}
      <Modal
        opened={picked !== null}
        onClose={() => setPicked(null)}
        title={picked?.name}
        size="xl"
        closeButtonProps={{ "aria-label": "Close" }}
      >
        {picked && <EditPreview placement={picked} />}
      </Modal>
      {adding && <Create close={() => setAdding(false)} />}
    </Stack>
  );
}

function ActiveSwitch({ placement }: { placement: Placement }) {
  const { canWrite } = useCurrent();
  const change = useWrite(
    (isActive: boolean) =>
      call("PATCH /placement-service/placements/{placement_id}", {
        path: { placement_id: placement.placementId },
        body: { isActive },
      }),
    "/placement-service",
  );
  return (
    <>
      <Switch
        checked={change.isPending ? change.variables : placement.isActive}
        disabled={!canWrite}
        aria-label={`${placement.name} is active`}
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

// EditPreview edits the preview template beside what it looks like with example values.
function EditPreview({ placement }: { placement: Placement }) {
  const { canWrite } = useCurrent();
  const [html, setHtml] = useState(placement.previewTemplate.html ?? "");
  const [css, setCss] = useState(placement.previewTemplate.css ?? "");
  const save = useWrite(
    () =>
      call("PATCH /placement-service/placements/{placement_id}", {
        path: { placement_id: placement.placementId },
        body: { previewTemplate: { html, css } },
      }),
    "/placement-service",
  );
  const example = exampleOf(placement.jsonTemplate.jsonSchema) as Record<string, unknown>;
  const values = Object.fromEntries(Object.entries(example ?? {}).map(([name, value]) => [name, String(value)]));
  const mono = { input: { fontFamily: "var(--mantine-font-family-monospace)" } };
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <Textarea
          label="HTML of the preview"
          description="{{name}} stands for a member of the template"
          autosize
          minRows={5}
          maxRows={14}
          styles={mono}
          readOnly={!canWrite}
          value={html}
          onChange={(event) => setHtml(event.currentTarget.value)}
        />
        <Textarea
          label="CSS of the preview"
          description="Applies inside of the frame only"
          autosize
          minRows={5}
          maxRows={14}
          styles={mono}
          readOnly={!canWrite}
          value={css}
          onChange={(event) => setCss(event.currentTarget.value)}
        />
      </SimpleGrid>
      {save.error && <Failure error={save.error} />}
      {canWrite && (
        <Group>
          <Button onClick={() => save.mutate(undefined)} loading={save.isPending}>
            Save the preview
          </Button>
        </Group>
      )}
      <Title order={2} size="h5">
        Desktop
      </Title>
      {html ? (
        <Preview html={fill(html, values)} css={css} label={`Preview of ${placement.name} on a desktop`} />
      ) : (
        <Text c="dimmed">The placement has no preview yet.</Text>
      )}
      {html && (
        <>
          <Title order={2} size="h5">
            Mobile
          </Title>
          <Preview html={fill(html, values)} css={css} label={`Preview of ${placement.name} on a phone`} width={375} />
        </>
      )}
    </Stack>
  );
}

function Create({ close }: { close: () => void }) {
  const templates = useRead("GET /campaign-service/json-templates", { query: { limit: 100 } });
  const [name, setName] = useState("");
  const [external, setExternal] = useState("");
  const [template, setTemplate] = useState<string | null>(null);
  const [most, setMost] = useState(10);
  const create = useWrite(
    () =>
      call("POST /placement-service/placements", {
        body: { name, externalPlacementId: external, jsonTemplateId: template ?? "", products: { min: 0, max: most } },
      }),
    "/placement-service",
  );
  return (
    <FormDialog
      title="Create a placement"
      opened
      close={close}
      submitLabel="Create placement"
      busy={create.isPending}
      error={create.error}
      submit={() => create.mutate(undefined, { onSuccess: close })}
    >
      <TextInput
        label="Name"
        required
        minLength={5}
        maxLength={50}
        value={name}
        onChange={(e) => setName(e.currentTarget.value)}
        data-autofocus
      />
      <TextInput
        label="Id of the storefront"
        description="Auctions name the placement with it: letters, digits, _ and -"
        required
        pattern="[A-Za-z0-9_\-]+"
        maxLength={255}
        value={external}
        onChange={(event) => setExternal(event.currentTarget.value)}
      />
      <Select
        label="Template"
        required
        value={template}
        onChange={setTemplate}
        searchable
        data={(templates.data?.jsonTemplates ?? []).map((one) => ({ value: one.id, label: one.name }))}
      />
      <NumberInput
        label="Most products"
        min={0}
        max={50}
        value={most}
        onChange={(value) => setMost(Number(value) || 0)}
      />
    </FormDialog>
  );
}
