import { useQuery } from "@tanstack/react-query";
import { ApiError } from "./client";
import { connectionLost, connectionWorks } from "./connection";
import { parseCounters, type Counters } from "./counters";

const everyMillis = 2_000;

async function read(signal: AbortSignal): Promise<Counters> {
  let response: Response;
  try {
    response = await fetch("/metrics", { signal });
  } catch (cause) {
    if (!signal.aborted) connectionLost();
    throw cause;
  }
  if (!response.ok) throw new ApiError(response.status, "metrics", "The node's counters cannot be read at this address.");
  connectionWorks();
  return parseCounters(await response.text(), Date.now());
}

// useCounters reads the node's counters again and again while the page is in front.
export function useCounters() {
  return useQuery<Counters>({
    queryKey: ["metrics"], queryFn: ({ signal }) => read(signal), refetchInterval: everyMillis, structuralSharing: false, staleTime: 0,
  });
}
