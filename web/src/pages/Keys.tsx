// API keys: the list, the creation of a key, whose secret is shown once, rotation and revocation.
import { Alert, Button, Group, Modal, Radio, Select, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { call } from "../api/client";
import { useRead, useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { Identifier } from "../ui/Copy";
import { DataTable, useCursor } from "../ui/DataTable";
import { ConfirmButton, FormDialog } from "../ui/Dialog";
import { formatCount } from "../ui/money";
import { Page } from "../ui/Page";
import { Empty } from "../ui/States";
import { Time } from "../ui/time";
import { KeySecret } from "./KeySecret";
import { RotateKey } from "./RotateKey";

type Key = Schemas["apikey.Key"];
type Kind = Key["kind"];

export default function Keys() {
  const { canWrite } = useCurrent();
  const cursor = useCursor();
  const keys = useRead("GET /key-service/keys", { query: { limit: 50, next_page: cursor.page } }, { keep: true });
  const [creating, setCreating] = useState(false);
  const [rotating, setRotating] = useState<Key | null>(null);
  const [made, setMade] = useState<Schemas["apikey.NewKey"] | null>(null);
  const revoke = useWrite(
    (id: string) => call("DELETE /key-service/keys/{key_id}", { path: { key_id: id } }),
    "/key-service/keys",
  );
  const create = canWrite && <Button onClick={() => setCreating(true)}>Create key</Button>;

  return (
    <Page
      title="API keys"
      actions={create}
      about="Storefronts run auctions with an auction key; programs that manage campaigns use a management key. Last use and requests are those of the node that answers; its days are those of UTC."
    >
      <DataTable
        label="API keys"
        rows={keys.data?.keys}
        rowKey={(key) => key.keyId}
        minWidth={1120}
        error={keys.error}
        retry={() => void keys.refetch()}
        pager={cursor.pager(keys.data?.nextPage)}
        empty={
          <Empty title="There are no keys" action={create}>
            Without a key nothing can call this marketplace.
          </Empty>
        }
        columns={[
          { name: "Name", cell: (key) => key.name },
          { name: "Kind", cell: (key) => (key.kind === "auction" ? "Auction key" : "Management key") },
          {
            name: "Begins with",
            cell: (key) => <Identifier value={`${prefixes[key.kind]}${key.keyId}`} length={40} />,
          },
          { name: "Created", cell: (key) => <Time at={key.createdAt} /> },
          { name: "Last used", cell: (key) => <LastUse at={key.lastUsedAt} /> },
          { name: "Requests today", align: "right", cell: (key) => <Requests of={key} /> },
          { name: "Expires", cell: (key) => <Expiry at={key.expiresAt} /> },
          {
            name: "Actions",
            hidden: true,
            align: "right",
            cell: (key) =>
              canWrite && (
                <Group gap="xs" wrap="nowrap" justify="flex-end">
                  {!hasExpired(key) && (
                    <Button
                      size="xs"
                      variant="default"
                      aria-label={`Rotate ${key.name}`}
                      onClick={() => setRotating(key)}
                    >
                      Rotate
                    </Button>
                  )}
                  <ConfirmButton
                    label="Revoke"
                    subject={key.name}
                    title={`Revoke ${key.name}?`}
                    run={() => revoke.mutateAsync(key.keyId)}
                    question="Every node refuses the key within a second. It cannot be restored."
                  />
                </Group>
              ),
          },
        ]}
      />
      <CreateKey
        opened={creating}
        close={() => setCreating(false)}
        created={(key) => {
          setCreating(false);
          setMade(key);
        }}
      />
      {rotating && (
        <RotateKey
          old={rotating}
          close={() => setRotating(null)}
          created={(key) => {
            setRotating(null);
            setMade(key);
          }}
        />
      )}
      <Modal
        opened={made !== null}
        onClose={() => setMade(null)}
        title="Copy the key now"
        size="lg"
        closeOnClickOutside={false}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        {made && <KeySecret made={made} done={() => setMade(null)} />}
      </Modal>
    </Page>
  );
}

const prefixes: Record<Kind, string> = { auction: "gavel_auc_", management: "gavel_mgt_" };

function LastUse({ at }: { at: string | null }) {
  if (at) return <Time at={at} />;
  return (
    <Text span inherit c="dimmed" title="Each node knows of its own requests only.">
      not since this node started
    </Text>
  );
}

// Requests shows today's requests of a key. The days are those of UTC.
function Requests({ of: key }: { of: Key }) {
  return (
    <Text span inherit title="Of the node that answers, since it started. Each node counts its own requests only.">
      {formatCount(key.requestsToday)}
      <Text span inherit c="dimmed">
        {" "}
        ({formatCount(key.requestsYesterday)} yesterday)
      </Text>
    </Text>
  );
}

const hasExpired = (key: Key) => key.expiresAt !== null && new Date(key.expiresAt) < new Date();

function Expiry({ at }: { at: string | null }) {
  if (!at)
    return (
      <Text span inherit c="dimmed">
        never
      </Text>
    );
  return new Date(at) < new Date() ? (
    <Alert p={4} color="red">
      expired
    </Alert>
  ) : (
    <Time at={at} />
  );
}

const lifetimes = [
  { value: "", label: "Never" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
];

interface CreateProps {
  opened: boolean;
  close: () => void;
  created: (key: Schemas["apikey.NewKey"]) => void;
}

function CreateKey({ opened, close, created }: CreateProps) {
  const [kind, setKind] = useState<Kind>("auction");
  const [name, setName] = useState("");
  const [days, setDays] = useState("");
  const create = useWrite(
    (body: Schemas["apikey.Body"]) => call("POST /key-service/keys", { body }),
    "/key-service/keys",
  );
  const leave = () => {
    setName("");
    setDays("");
    create.reset();
    close();
  };
  const submit = () => {
    const expiresAt = days ? new Date(Date.now() + Number(days) * 86_400_000).toISOString() : undefined;
    create.mutate(
      { kind, name, ...(expiresAt ? { expiresAt } : {}) },
      {
        onSuccess: (key) => {
          leave();
          created(key);
        },
      },
    );
  };
  return (
    <FormDialog
      title="Create a key"
      opened={opened}
      close={leave}
      submit={submit}
      submitLabel="Create key"
      busy={create.isPending}
      error={create.error}
    >
      <TextInput
        label="Name"
        description="What uses the key, for example: storefront"
        required
        maxLength={255}
        value={name}
        data-autofocus
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Radio.Group label="Kind" value={kind} onChange={(value) => setKind(value as Kind)}>
        <Stack gap="xs" mt="xs">
          <Radio
            value="auction"
            label="Auction key"
            description="Runs auctions and reports events. For the storefront's servers."
          />
          <Radio
            value="management"
            label="Management key"
            description="Manages campaigns, catalog and money. Keep it secret."
          />
        </Stack>
      </Radio.Group>
      <Select
        label="Expires"
        data={lifetimes}
        value={days}
        onChange={(value) => setDays(value ?? "")}
        allowDeselect={false}
      />
    </FormDialog>
  );
}
