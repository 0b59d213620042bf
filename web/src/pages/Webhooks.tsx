// Webhooks: where the node reports changes, and what it sent there.
import { Button, Group, Modal, PasswordInput, Select, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { call } from "../api/client";
import { useRead, useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { CopyBlock } from "../ui/Copy";
import { DataTable, useCursor } from "../ui/DataTable";
import { ConfirmButton, FormDialog } from "../ui/Dialog";
import { Page } from "../ui/Page";
import { Empty } from "../ui/States";
import { Time } from "../ui/time";
import { WebhookDeliveries } from "./WebhookDeliveries";

type Webhook = Schemas["webhook.Webhook"];
type Channel = Schemas["webhook.Body"]["channel"];

const channels: Channel[] = [
  "campaign:create",
  "campaign:update",
  "campaign:delete",
  "bid:create",
  "bid:update",
  "bid:delete",
  "asset:status",
  "job:finish",
  "wallet:empty",
];

export default function Webhooks() {
  const { canWrite } = useCurrent();
  const cursor = useCursor();
  const [adding, setAdding] = useState(false);
  const [picked, setPicked] = useState<Webhook | null>(null);
  const [made, setMade] = useState<Webhook | null>(null);
  const webhooks = useRead("GET /webhooks/webhooks", { query: { limit: 25, next_page: cursor.page } }, { keep: true });
  const remove = useWrite(
    (id: string) => call("DELETE /webhooks/webhooks/{webhook_id}", { path: { webhook_id: id } }),
    "/webhooks",
  );
  const add = canWrite && <Button onClick={() => setAdding(true)}>Create webhook</Button>;
  return (
    <Page
      title="Webhooks"
      actions={add}
      about="The node sends changes to these addresses, signed with their secret, and repeats what fails."
    >
      <DataTable
        label="Webhooks"
        rows={webhooks.data?.webhooks}
        rowKey={(one) => one.id}
        error={webhooks.error}
        minWidth={760}
        retry={() => void webhooks.refetch()}
        pager={cursor.pager(webhooks.data?.nextPage)}
        empty={
          <Empty title="There are no webhooks" action={add}>
            Create one to learn of changes without asking again and again.
          </Empty>
        }
        columns={[
          {
            name: "Address",
            cell: (one) => (
              <Text size="sm" style={{ overflowWrap: "anywhere" }}>
                {one.url}
              </Text>
            ),
          },
          { name: "Channel", cell: (one) => one.channel },
          { name: "Created", cell: (one) => <Time at={one.createdAt} /> },
          {
            name: "Actions",
            hidden: true,
            align: "right",
            cell: (one) => (
              <Group gap="xs" wrap="nowrap" justify="flex-end">
                <Button
                  size="xs"
                  variant="default"
                  onClick={() => setPicked(one)}
                  aria-label={`Deliveries and test of ${one.url}`}
                >
                  Deliveries and test
                </Button>
                {canWrite && (
                  <ConfirmButton
                    label="Delete"
                    subject={one.url}
                    title="Delete the webhook?"
                    run={() => remove.mutateAsync(one.id)}
                    question={`Nothing more is sent to ${one.url}. Deliveries that wait are dropped.`}
                  />
                )}
              </Group>
            ),
          },
        ]}
      />
      <Modal
        opened={picked !== null}
        onClose={() => setPicked(null)}
        size="xl"
        title={picked ? `Deliveries of ${picked.channel}` : ""}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        {picked && <WebhookDeliveries webhook={picked} />}
      </Modal>
      {adding && (
        <Create
          close={() => setAdding(false)}
          created={(webhook) => {
            setAdding(false);
            setMade(webhook);
          }}
        />
      )}
      <Modal
        opened={made !== null}
        onClose={() => setMade(null)}
        size="lg"
        title="Copy the secret now"
        closeOnClickOutside={false}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        {made && (
          <Stack>
            <Text size="sm">
              The receiver needs it to check the header X-TS-Signature-256. This is the only time that it is shown.
            </Text>
            <CopyBlock label={`Secret of ${made.url}`} text={made.secret ?? ""} />
          </Stack>
        )}
      </Modal>
    </Page>
  );
}

function Create({ close, created }: { close: () => void; created: (webhook: Webhook) => void }) {
  const [url, setUrl] = useState("");
  const [secret, setSecret] = useState("");
  const [channel, setChannel] = useState<string>("campaign:update");
  const create = useWrite(
    () =>
      call("POST /webhooks/webhooks", {
        body: { url, channel: channel as Channel, ...(secret ? { secret } : {}) },
      }),
    "/webhooks",
  );
  return (
    <FormDialog
      title="Create a webhook"
      opened
      close={close}
      submitLabel="Create webhook"
      busy={create.isPending}
      error={create.error}
      submit={() => create.mutate(undefined, { onSuccess: created })}
    >
      <TextInput
        label="Address"
        type="url"
        placeholder="https://shop.example/gavel"
        required
        value={url}
        data-autofocus
        onChange={(event) => setUrl(event.currentTarget.value)}
      />
      <Select
        label="Channel"
        data={channels}
        value={channel}
        onChange={(value) => setChannel(value ?? channel)}
        allowDeselect={false}
        searchable
      />
      <PasswordInput
        label="Secret"
        description="Signs every delivery, at most 32 characters; leave it empty for a random one"
        maxLength={32}
        autoComplete="off"
        value={secret}
        onChange={(event) => setSecret(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
