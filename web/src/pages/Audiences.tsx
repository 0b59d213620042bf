// Segments, to which users are uploaded as lists, and the audiences of advertising networks with their jobs.
import { Button, Group, Stack, Tabs, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { call } from "../api/client";
import { useRead, useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { useAddressState } from "../ui/address";
import { DataTable, useCursor } from "../ui/DataTable";
import { ConfirmButton, FormDialog } from "../ui/Dialog";
import { formatCount } from "../ui/money";
import { Page } from "../ui/Page";
import { Empty } from "../ui/States";
import { Time } from "../ui/time";
import { OffsiteAudiences } from "./OffsiteAudiences";
import { UploadSegment } from "./UploadSegment";

type Segment = Schemas["segment.Segment"];

export default function Audiences() {
  const [tab, setTab] = useAddressState("tab", "segments");
  return (
    <Page
      title="Audiences"
      about="Segments decide who sees a campaign. Audiences are sent to other advertising networks."
    >
      <Tabs value={tab} onChange={(value) => setTab(value ?? "segments")} keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="segments">Segments</Tabs.Tab>
          <Tabs.Tab value="offsite">Audiences of networks</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="segments" pt="md">
          <Segments />
        </Tabs.Panel>
        <Tabs.Panel value="offsite" pt="md">
          <OffsiteAudiences />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

function Segments() {
  const { canWrite } = useCurrent();
  const cursor = useCursor();
  const [adding, setAdding] = useState(false);
  const [uploading, setUploading] = useState<Segment | null>(null);
  const segments = useRead(
    "GET /segment-service/segments",
    { query: { limit: 25, next_page: cursor.page } },
    { keep: true, every: 15_000 },
  );
  const remove = useWrite(
    (id: string) => call("DELETE /segment-service/segments/{segment_id}", { path: { segment_id: id } }),
    "/segment-service",
  );
  const add = canWrite && <Button onClick={() => setAdding(true)}>Create segment</Button>;
  return (
    <Stack>
      {segments.data && segments.data.segments.length > 0 && <Group>{add}</Group>}
      <DataTable
        label="Segments"
        rows={segments.data?.segments}
        rowKey={(one) => one.id}
        error={segments.error}
        minWidth={760}
        retry={() => void segments.refetch()}
        pager={cursor.pager(segments.data?.nextPage)}
        empty={
          <Empty title="There are no segments" action={add}>
            A segment is a named set of users, uploaded as a list or computed from behaviour.
          </Empty>
        }
        columns={[
          { name: "Segment", cell: (one) => one.name },
          {
            name: "Id",
            cell: (one) => (
              <Text size="sm" ff="monospace">
                {one.id}
              </Text>
            ),
          },
          { name: "Kind", cell: (one) => (one.config.type === "dynamic" ? "from behaviour" : "list") },
          { name: "Users", align: "right", cell: (one) => formatCount(one.size) },
          { name: "Changed", cell: (one) => <Time at={one.updatedAt} /> },
          {
            name: "Actions",
            hidden: true,
            align: "right",
            cell: (one) =>
              canWrite && (
                <Group gap="xs" wrap="nowrap" justify="flex-end">
                  {one.config.type !== "dynamic" && (
                    <Button
                      size="xs"
                      variant="default"
                      onClick={() => setUploading(one)}
                      aria-label={`Upload users to ${one.name}`}
                    >
                      Upload users
                    </Button>
                  )}
                  <ConfirmButton
                    label="Delete"
                    subject={one.name}
                    title={`Delete ${one.name}?`}
                    run={() => remove.mutateAsync(one.id)}
                    question="Campaigns that target the segment find no user in it any more."
                  />
                </Group>
              ),
          },
        ]}
      />
      {adding && <CreateSegment close={() => setAdding(false)} />}
      {uploading && <UploadSegment segment={uploading} close={() => setUploading(null)} />}
    </Stack>
  );
}

function CreateSegment({ close }: { close: () => void }) {
  const [id, setId] = useState("");
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const put = useWrite(
    () =>
      call("PUT /segment-service/segments", {
        body: { segments: [{ id, name, ...(description ? { description } : {}), config: { type: "static" } }] },
      }),
    "/segment-service",
  );
  return (
    <FormDialog
      title="Create a segment"
      opened
      close={close}
      submitLabel="Create segment"
      busy={put.isPending}
      error={put.error}
      submit={() => put.mutate(undefined, { onSuccess: close })}
    >
      <TextInput label="Id" required value={id} onChange={(event) => setId(event.currentTarget.value)} data-autofocus />
      <TextInput label="Name" required value={name} onChange={(event) => setName(event.currentTarget.value)} />
      <TextInput
        label="Description"
        value={description}
        onChange={(event) => setDescription(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
