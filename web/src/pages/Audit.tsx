// The audit log: every change through the management API, with what was before and after.
import { Button, Group, Modal, Select, SimpleGrid, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { useRead } from "../api/query";
import type { Schemas } from "../api/schema";
import { useAddressState } from "../ui/address";
import { Identifier, Json } from "../ui/Copy";
import { DataTable, useCursor } from "../ui/DataTable";
import { Page } from "../ui/Page";
import { Empty } from "../ui/States";
import { Time } from "../ui/time";
import { changedMembers } from "./changedMembers";

type Entry = Schemas["audit.Entry"];

const operations = [
  "createKey",
  "deleteKey",
  "createCampaign",
  "patchCampaign",
  "deleteCampaign",
  "createBids",
  "patchBid",
  "deleteBid",
  "adjustWallet",
  "createTransfer",
  "patchSettings",
  "reviewAsset",
  "createInvitations",
  "createWebhook",
  "deleteWebhook",
];

export default function Audit() {
  const cursor = useCursor();
  const [key, setKey] = useAddressState("key", "");
  const [operation, setOperation] = useAddressState("operation", "");
  const [picked, setPicked] = useState<Entry | null>(null);
  const entries = useRead(
    "GET /audit-service/entries",
    {
      query: { limit: 25, next_page: cursor.page, key_id: key || undefined, operation: operation || undefined },
    },
    { keep: true },
  );
  const choose = (set: (value: string) => void) => (value: string | null) => {
    cursor.reset();
    set(value ?? "");
  };
  return (
    <Page
      title="Audit log"
      about="Every change through the management API and the console: who, when, before and after."
    >
      <Group align="flex-end" gap="sm">
        <Select
          label="Operation"
          placeholder="All"
          clearable
          searchable
          w={220}
          data={operations}
          value={operation || null}
          onChange={choose(setOperation)}
        />
        <TextInput
          label="Key or user"
          placeholder="Id"
          w={220}
          defaultValue={key}
          onKeyDown={(event) => event.key === "Enter" && choose(setKey)(event.currentTarget.value)}
          onBlur={(event) => choose(setKey)(event.currentTarget.value)}
        />
      </Group>
      <DataTable
        label="Entries of the audit log"
        rows={entries.data?.entries}
        rowKey={(one) => one.id}
        error={entries.error}
        minWidth={820}
        retry={() => void entries.refetch()}
        pager={cursor.pager(entries.data?.nextPage)}
        empty={<Empty title={key || operation ? "No entry fits the filter" : "Nothing has been changed yet"} />}
        columns={[
          { name: "Time", cell: (one) => <Time at={one.at} format="full" /> },
          { name: "Who", cell: (one) => <Who entry={one} /> },
          { name: "Operation", cell: (one) => one.operation },
          {
            name: "Path",
            cell: (one) => (
              <Text size="sm" ff="monospace" style={{ overflowWrap: "anywhere" }}>
                {one.path.replace("/public/v1", "")}
              </Text>
            ),
          },
          { name: "Status", align: "right", cell: (one) => one.status },
          {
            name: "Details",
            hidden: true,
            align: "right",
            cell: (one) => (
              <Button
                size="xs"
                variant="default"
                onClick={() => setPicked(one)}
                aria-label={`Details of ${one.operation}`}
              >
                Details
              </Button>
            ),
          },
        ]}
      />
      <Modal
        opened={picked !== null}
        onClose={() => setPicked(null)}
        size="xl"
        title={picked?.operation}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        {picked && <Details entry={picked} />}
      </Modal>
    </Page>
  );
}

// Who shows the user of the console, or the key of a program.
function Who({ entry }: { entry: Entry }) {
  if (entry.userEmail)
    return (
      <Text size="sm" style={{ overflowWrap: "anywhere" }}>
        {entry.userEmail}
      </Text>
    );
  return entry.keyId ? (
    <Identifier value={entry.keyId} length={24} />
  ) : (
    <Text size="sm" c="dimmed">
      the node
    </Text>
  );
}

function Details({ entry }: { entry: Entry }) {
  const changed = changedMembers(entry.before, entry.after);
  return (
    <Stack>
      <Text size="sm" component="div">
        {entry.method} {entry.path}, <Time at={entry.at} format="full" />
        {entry.requestId && (
          <>
            , request <Identifier value={entry.requestId} length={36} />
          </>
        )}
      </Text>
      {changed.length > 0 && (
        <DataTable
          label="Changed members"
          rows={changed}
          rowKey={(one) => one.name}
          empty={null}
          minWidth={420}
          columns={[
            { name: "Member", cell: (one) => one.name },
            { name: "Before", cell: (one) => one.before },
            { name: "After", cell: (one) => one.after },
          ]}
        />
      )}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Json label="Before" value={entry.before ?? null} />
        <Json label="After" value={entry.after ?? null} />
      </SimpleGrid>
    </Stack>
  );
}
