// What the node sent to a webhook, with the button that sends a test.
import { Button, Group, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { call } from "../api/client";
import { useRead, useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { State } from "../ui/Badges";
import { Json } from "../ui/Copy";
import { DataTable } from "../ui/DataTable";
import { Empty, Failure, Loaded } from "../ui/States";
import { Time } from "../ui/time";

type Delivery = Schemas["webhook.Delivery"];

const testChannel = "webhook:test"; // The channel of the notices that testWebhook sends.
const [everyMillis, waitingMillis] = [5_000, 1_000]; // Between two reads: usually, and while a result is awaited.

export function WebhookDeliveries({ webhook }: { webhook: Schemas["webhook.Webhook"] }) {
  const { canWrite } = useCurrent();
  const [waiting, setWaiting] = useState("");
  const [picked, setPicked] = useState<Delivery | null>(null);
  const path = { webhook_id: webhook.id };
  const deliveries = useRead(
    "GET /webhooks/webhooks/{webhook_id}/deliveries",
    { path, query: { limit: 50 } },
    { every: waiting ? waitingMillis : everyMillis },
  );
  const test = useWrite(() => call("POST /webhooks/webhooks/{webhook_id}/test", { path }), "/webhooks");
  const result = deliveries.data?.deliveries.find(({ id }) => id === test.data?.id);
  if (waiting && result?.id === waiting && result.status !== "pending") setWaiting("");
  const send = canWrite && (
    <Button
      loading={test.isPending}
      disabled={waiting !== ""}
      onClick={() => test.mutate(undefined, { onSuccess: ({ id }) => setWaiting(id) })}
    >
      Send a test
    </Button>
  );
  return (
    <Stack>
      <Group>
        {send}
        <Text size="sm" role="status" style={{ overflowWrap: "anywhere" }}>
          {test.data ? resultOf(result) : "A test changes nothing; its notice names the channel webhook:test."}
        </Text>
      </Group>
      {test.error && <Failure error={test.error} />}
      <Loaded of={deliveries}>
        {(data) => (
          <DataTable
            label="Deliveries"
            rows={data.deliveries}
            rowKey={(one) => one.id}
            empty={<Empty title="Nothing has been sent yet">A delivery appears with the next change or test.</Empty>}
            columns={[
              { name: "State", cell: (one) => <State of={one.status} /> },
              { name: "Notice", cell: (one) => (one.channel === testChannel ? "test" : one.channel) },
              { name: "Time", cell: (one) => <Time at={one.updatedAt} format="full" /> },
              { name: "Attempts", align: "right", cell: (one) => one.attempts },
              {
                name: "Reason",
                cell: (one) => (
                  <Text size="sm" style={{ overflowWrap: "anywhere" }}>
                    {one.reason ?? "–"}
                  </Text>
                ),
              },
              {
                name: "Body",
                hidden: true,
                align: "right",
                cell: (one) => (
                  <Button size="xs" variant="default" onClick={() => setPicked(one)} aria-label={`Body of ${one.id}`}>
                    Body
                  </Button>
                ),
              },
            ]}
          />
        )}
      </Loaded>
      {picked && <Json label={`Body of ${picked.id}`} value={picked.body} />}
    </Stack>
  );
}

// resultOf says what came of a test; undefined is a test that the list does not have yet.
function resultOf(test: Delivery | undefined): string {
  if (test?.status === "delivered") return "The receiver accepted the test.";
  if (test?.status === "failed") return `The test failed: ${test.reason ?? "no reason was recorded"}.`;
  if (test?.reason) return `The last attempt failed: ${test.reason}. The node tries again within a minute.`;
  return "The test waits to be sent …";
}
