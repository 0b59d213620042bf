// What a page shows instead of its content: that it loads, that it failed, or that there is nothing yet.
import { Alert, Anchor, Button, Group, Paper, Skeleton, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { ApiError } from "../api/client";

export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const failure = error instanceof ApiError ? error : undefined;
  const message = error instanceof Error ? error.message : String(error);
  return (
    <Alert color="red" title="This did not work" role="alert">
      <Stack gap="xs" align="flex-start">
        <Text size="sm" style={{ overflowWrap: "anywhere" }}>
          {message}
        </Text>
        <Group gap="md">
          {retry && (
            <Button size="xs" variant="default" onClick={retry}>
              Try again
            </Button>
          )}
          {failure?.docUrl && failure.code && <DocLink code={failure.code} />}
        </Group>
      </Stack>
    </Alert>
  );
}

// DocLink leads to the node's own page about an error code, which needs no internet access.
function DocLink({ code }: { code: string }) {
  return (
    <Anchor href={`/docs/errors#${encodeURIComponent(code)}`} target="_blank" size="sm">
      What {code} means
    </Anchor>
  );
}

export function Loading({ lines = 5 }: { lines?: number }) {
  return (
    <Stack gap="sm" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, line) => (
        <Skeleton key={line} height={28} />
      ))}
    </Stack>
  );
}

export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <Paper withBorder p="xl" radius="md">
      <Stack align="center" gap="xs" py="md">
        <Title order={2} size="h4" ta="center">
          {title}
        </Title>
        {children && (
          <Text c="dimmed" ta="center" maw={520} component="div">
            {children}
          </Text>
        )}
        {action}
      </Stack>
    </Paper>
  );
}

interface Answer<T> {
  data: T | undefined;
  error: Error | null;
  refetch: () => unknown;
}

// Loaded shows an answer as soon as it is there, and before it what is the matter.
export function Loaded<T>({
  of,
  children,
  lines,
}: {
  of: Answer<T>;
  children: (data: T) => ReactNode;
  lines?: number;
}) {
  if (of.data !== undefined) return children(of.data);
  if (of.error) return <Failure error={of.error} retry={() => void of.refetch()} />;
  return <Loading lines={lines} />;
}
