// Text to copy: identifiers in a line, and blocks such as a command.
import { ActionIcon, Box, Button, Code, CopyButton, Group, Paper, Text, Tooltip } from "@mantine/core";
import { CheckIcon, CopyIcon } from "./icons";

// Identifier shows the beginning of a long identifier and copies all of it.
export function Identifier({ value, length = 8 }: { value: string; length?: number }) {
  const shown = value.length > length + 3 ? `${value.slice(0, length)}…` : value;
  return (
    <Group gap={4} wrap="nowrap" display="inline-flex">
      <Tooltip label={value} disabled={shown === value}>
        <Text span ff="monospace" size="sm">
          {shown}
        </Text>
      </Tooltip>
      <CopyButton value={value}>
        {({ copied, copy }) => (
          <ActionIcon
            size="sm"
            variant="subtle"
            color="gray"
            aria-label={copied ? "Copied" : `Copy ${value}`}
            onClick={copy}
          >
            {copied ? <CheckIcon /> : <CopyIcon />}
          </ActionIcon>
        )}
      </CopyButton>
    </Group>
  );
}

export function CopyBlock({ text, label }: { text: string; label: string }) {
  return (
    <Paper withBorder radius="md" p="sm">
      <Group justify="space-between" mb={6}>
        <Text size="sm" c="dimmed">
          {label}
        </Text>
        <CopyButton value={text}>
          {({ copied, copy }) => (
            <Button size="compact-xs" variant="default" onClick={copy}>
              {copied ? "Copied" : "Copy"}
            </Button>
          )}
        </CopyButton>
      </Group>
      <Box tabIndex={0} role="region" aria-label={label} style={{ overflow: "auto", maxHeight: 320 }}>
        <Code block style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
          {text}
        </Code>
      </Box>
    </Paper>
  );
}

// Json shows a value as indented JSON.
export function Json({ value, label }: { value: unknown; label: string }) {
  return <CopyBlock label={label} text={JSON.stringify(value, null, 2) ?? "nothing"} />;
}
