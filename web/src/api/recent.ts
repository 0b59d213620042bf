// The requests that the node explained as they happened. The first read brings all that the node keeps, later ones only what
// is newer.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "./client";
import type { Schemas } from "./schema";

type Recent = Schemas["explain.Recent"];

const keptMax = 50; // BOUND: requests on the page, as many as the node keeps.

// useRecent reads every so many milliseconds, and once when every is 0.
export function useRecent(marketplace: string, every: number) {
  const client = useQueryClient();
  const queryKey = ["GET /auctions/recent", marketplace];
  return useQuery<Recent, Error>({
    queryKey,
    queryFn: async ({ signal }) => {
      const known = client.getQueryData<Recent>(queryKey)?.recent ?? [];
      const query = { consistency: "local", after: known[0]?.at } as const;
      const { every: sampled, recent } = await call("GET /auctions/recent", { query, signal });
      return { every: sampled, recent: [...recent, ...known].slice(0, keptMax) };
    },
    refetchInterval: every || false,
  });
}
