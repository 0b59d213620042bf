// How pages read: cached answers, repeated while a call cannot succeed yet, and refreshed after a change.
import { QueryClient, useMutation, useQuery, useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import { ApiError, call, type Arguments } from "./client";
import type { Operations } from "./schema";

const retriesMax = 60; // BOUND: tries of one read while the node is away, about four minutes.
const waitMaxSeconds = 5;

// A call is worth repeating when no answer came, when the node is not ready, or when the rate limit asks to wait.
const temporary = (error: unknown) =>
  error instanceof ApiError &&
  (error.status === 0 || error.status === 429 || (error.status >= 502 && error.status <= 504));

function waitMillis(attempt: number, error: unknown): number {
  if (error instanceof ApiError && error.status === 429) return Math.min(Math.max(error.waitSeconds, 1), 60) * 1_000;
  return Math.min(2 ** attempt * 500, waitMaxSeconds * 1_000);
}

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (count, error) => temporary(error) && count < retriesMax,
      retryDelay: waitMillis,
      staleTime: 5_000,
      networkMode: "always", // The node may run on this machine, without a network.
    },
    mutations: { retry: false, networkMode: "always" },
  },
});

interface ReadOptions {
  enabled?: boolean;
  every?: number; // Milliseconds between two reads; absent: once.
  keep?: boolean; // Whether the previous answer is shown while another page of the list is read.
}

// useRead reads one operation. The operation's name and arguments are the key of the cache.
export function useRead<K extends keyof Operations>(
  operation: K,
  args: Arguments<K>,
  options: ReadOptions = {},
): UseQueryResult<Operations[K]["answer"], Error> {
  return useQuery<Operations[K]["answer"], Error>({
    queryKey: [operation, args],
    queryFn: ({ signal }) => call(operation, { ...args, signal }) as Promise<Operations[K]["answer"]>,
    enabled: options.enabled ?? true,
    refetchInterval: options.every ?? false,
    ...(options.keep ? { placeholderData: (previous: unknown) => previous as never } : {}),
  });
}

// useWrite runs changes. Afterwards every read whose operation begins with one of the given texts is repeated.
export function useWrite<Input, Answer>(run: (input: Input) => Promise<Answer>, ...refresh: string[]) {
  const client = useQueryClient();
  return useMutation<Answer, Error, Input>({
    mutationFn: run,
    onSuccess: () =>
      client.invalidateQueries({
        predicate: (query) => refresh.some((prefix) => String(query.queryKey[0]).startsWith(`GET ${prefix}`)),
      }),
  });
}
