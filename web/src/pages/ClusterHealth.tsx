// The health of the cluster in a line, for the overview. Admins of other marketplaces than the first may not see it, and
// then there is no line.
import { Anchor, Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { ApiError, request } from "../api/client";
import { State } from "../ui/Badges";
import { warningsOf, type ClusterStatus } from "./clusterStatus";

const everyMillis = 30_000;

export function ClusterHealth() {
  const status = useQuery<ClusterStatus>({
    queryKey: ["cluster"],
    queryFn: ({ signal }) => request("GET", "/cluster", { signal }),
    refetchInterval: (query) => (query.state.error ? false : everyMillis),
    retry: (count, error) => count < 3 && !(error instanceof ApiError && error.status === 403),
  });
  if (!status.data) return null;
  const warnings = warningsOf(status.data);
  const count = status.data.nodes.length;
  return (
    <Group gap="sm">
      <State of={warnings.length === 0 ? "healthy" : "failed"} />
      <Text size="sm">
        {warnings.length > 0
          ? `The cluster needs attention: ${warnings[0]}`
          : count === 1
            ? "The node has a leader for every group."
            : `All ${count} nodes answer, and every group has a leader.`}
      </Text>
      <Anchor size="sm" component={Link} to="/cluster">
        Cluster
      </Anchor>
    </Group>
  );
}
