// The cluster: nodes and groups with leaders, lag and disk, and what an admin can do with them.
import { Alert, Button, Group, Paper, Progress, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { request, serviceBase } from "../api/client";
import { State } from "../ui/Badges";
import { DataTable } from "../ui/DataTable";
import { ConfirmButton } from "../ui/Dialog";
import { formatCount } from "../ui/money";
import { Page } from "../ui/Page";
import { Empty, Loaded } from "../ui/States";
import { bytes, warningsOf, type ClusterStatus, type GroupStatus, type NodeStatus } from "./clusterStatus";

const everyMillis = 5_000;

export default function Cluster() {
  const status = useQuery<ClusterStatus>({
    queryKey: ["cluster"],
    queryFn: ({ signal }) => request("GET", "/cluster", { signal }),
    refetchInterval: everyMillis,
  });
  return (
    <Page
      title="Cluster"
      about="The nodes that keep the same data, and the groups in which they replicate it."
      actions={
        <Button component="a" variant="default" href={`${serviceBase}/cluster/backup`} download>
          Back up now
        </Button>
      }
    >
      <Loaded of={status}>
        {(data) => (
          <Stack gap="lg">
            <Warnings of={data} />
            <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
              {data.nodes.map((node) => (
                <NodeCard key={node.id} node={node} status={data} />
              ))}
            </SimpleGrid>
            <Groups status={data} refresh={() => void status.refetch()} />
            <Text size="sm" c="dimmed">
              Cluster {data.clusterId}; node {data.node} answered.
            </Text>
          </Stack>
        )}
      </Loaded>
    </Page>
  );
}

function Warnings({ of }: { of: ClusterStatus }) {
  const warnings = warningsOf(of);
  if (warnings.length === 0) {
    return (
      <Alert color="green" title="The cluster is healthy">
        Every group has a leader and every node answers.
      </Alert>
    );
  }
  return (
    <Alert color="red" title="The cluster needs attention" role="alert">
      <Stack gap={4}>
        {warnings.map((warning) => (
          <Text key={warning} size="sm">
            {warning}
          </Text>
        ))}
      </Stack>
    </Alert>
  );
}

function NodeCard({ node, status }: { node: NodeStatus; status: ClusterStatus }) {
  const leads = status.groups.filter((group) => group.leader === node.id).length;
  return (
    <Paper withBorder radius="md" p="md">
      <Group justify="space-between">
        <Title order={2} size="h4">
          {node.id}
        </Title>
        <State of={!node.reachable ? "failed" : node.notReady ? "pending" : "ready"} />
      </Group>
      <Stack gap={4} mt="xs">
        <Text size="sm">
          {node.voter ? "voter" : "non-voter"}, leads {leads} of {status.groups.length} groups
        </Text>
        <Text size="sm" c="dimmed">
          {node.address || "no peers"} · version {node.version || "unknown"} · level {node.featureLevel}
        </Text>
        {(node.error || node.notReady) && <Text size="sm">{node.error || node.notReady}</Text>}
        <Text size="sm">{node.lag === 0 ? "up to date" : `${formatCount(node.lag)} entries behind`}</Text>
        {node.disk && node.disk.total > 0 && (
          <Stack gap={2}>
            <Text size="sm">
              {bytes(node.disk.free)} of {bytes(node.disk.total)} free{node.disk.low ? ": writes are refused" : ""}
            </Text>
            <Progress
              size="sm"
              value={100 - (node.disk.free / node.disk.total) * 100}
              aria-label={`Used disk of ${node.id}`}
              color={node.disk.low ? "red.7" : undefined}
            />
          </Stack>
        )}
      </Stack>
    </Paper>
  );
}

function Groups({ status, refresh }: { status: ClusterStatus; refresh: () => void }) {
  const [moved, setMoved] = useState("");
  const voters = status.nodes.filter((node) => node.voter && node.reachable).map((node) => node.id);
  const transfer = async (group: number, node: string) => {
    await request("POST", "/cluster/transfer", { body: { group, node } });
    setMoved(`The leadership of group ${group} was handed to ${node}.`);
    refresh();
  };
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        Groups
      </Title>
      {moved && (
        <Text role="status" size="sm">
          {moved}
        </Text>
      )}
      <DataTable<GroupStatus>
        label="Groups"
        rows={status.groups}
        rowKey={(group) => String(group.group)}
        empty={<Empty title="No groups" />}
        minWidth={720}
        columns={[
          { name: "Group", cell: (group) => group.group },
          { name: "Leader", cell: (group) => group.leader || "none" },
          { name: "Term", align: "right", cell: (group) => formatCount(group.term) },
          {
            name: "Applied",
            align: "right",
            cell: (group) => formatCount(Math.max(0, ...group.replicas.map((replica) => replica.applied))),
          },
          {
            name: "Replicas",
            cell: (group) =>
              group.replicas
                .map((replica) => `${replica.node}${replica.lag > 0 ? ` (${formatCount(replica.lag)} behind)` : ""}`)
                .join(", "),
          },
          {
            name: "Actions",
            hidden: true,
            align: "right",
            cell: (group) => (
              <Group gap="xs" justify="flex-end" wrap="nowrap">
                {voters
                  .filter((node) => node !== group.leader)
                  .map((node) => (
                    <ConfirmButton
                      key={node}
                      label={`Lead by ${node}`}
                      subject={`group ${group.group}`}
                      danger={false}
                      title={`Hand group ${group.group} to ${node}?`}
                      question="Events of the group wait for a moment until the new leader has taken over."
                      run={() => transfer(group.group, node)}
                    />
                  ))}
              </Group>
            ),
          },
        ]}
      />
    </Stack>
  );
}
