// The status of the cluster as a node answers it, and what in it needs a person.
export interface ReplicaStatus {
  node: string;
  lag: number;
  applied: number;
  digest: string;
  contactMs: number;
}

export interface GroupStatus {
  group: number;
  leader: string;
  term: number;
  replicas: ReplicaStatus[];
}

export interface NodeStatus {
  id: string;
  address: string;
  voter: boolean;
  reachable: boolean;
  error?: string;
  lag: number;
  version: string;
  featureLevel: number;
  notReady?: string;
  disk?: { free: number; total: number; reserve: number; low: boolean };
}

export interface ClusterStatus {
  clusterId: string;
  node: string;
  nodes: NodeStatus[];
  groups: GroupStatus[];
}

const lagMax = 1_000; // Entries; a replica that is further behind deserves a look.

// warningsOf lists what is wrong. Replicas with the same number of applied entries must have the same digest.
export function warningsOf(status: ClusterStatus): string[] {
  const warnings: string[] = [];
  for (const node of status.nodes) {
    if (!node.reachable) warnings.push(`${node.id} does not answer.`);
    else if (node.notReady) warnings.push(`${node.id} is not ready: ${node.notReady}.`);
    if (node.disk?.low) warnings.push(`The disk of ${node.id} is nearly full.`);
    if (node.reachable && node.lag > lagMax) warnings.push(`${node.id} is ${node.lag} entries behind.`);
  }
  for (const group of status.groups) {
    if (!group.leader) warnings.push(`Group ${group.group} has no leader: its events are refused.`);
    const digests = new Map<number, string>();
    for (const replica of group.replicas) {
      const known = digests.get(replica.applied);
      if (known !== undefined && known !== replica.digest) {
        warnings.push(`Replicas of group ${group.group} differ after ${replica.applied} entries. See the runbook.`);
      }
      digests.set(replica.applied, replica.digest);
    }
  }
  return warnings;
}

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

// bytes formats a size with one decimal.
export function bytes(n: number): string {
  let unit = 0;
  let rest = n;
  while (rest >= 1024 && unit < units.length - 1) {
    rest /= 1024;
    unit++;
  }
  return `${unit === 0 ? rest : rest.toFixed(1)} ${units[unit]}`;
}
