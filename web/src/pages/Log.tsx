// The log of the node: its newest records, and each new one as it is written.
import { Alert, Button, Group, Select, Stack, Text, TextInput } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { useLog, type LogRecord } from "../api/log";
import { useAddressState } from "../ui/address";
import { State } from "../ui/Badges";
import { DataTable, Pager } from "../ui/DataTable";
import { formatCount } from "../ui/money";
import { Page } from "../ui/Page";
import { Empty } from "../ui/States";
import { Time } from "../ui/time";

const levels = [
  { value: "debug", label: "All" },
  { value: "info", label: "Info and above" },
  { value: "warn", label: "Warnings and errors" },
  { value: "error", label: "Errors" },
];

const pageSize = 50;

export default function Log() {
  const [level, setLevel] = useAddressState("level", "info");
  const [search, setSearch] = useAddressState("text", "");
  const [text, setText] = useState(search);
  const log = useLog(level, search);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setSearch(text.trim());
  };
  return (
    <Page
      title="Log"
      about={
        "What the node that answers this page has logged, newest first. " +
        "Each node keeps its newest 1,000 records in memory; they end with its process."
      }
    >
      <form onSubmit={submit}>
        <Group align="flex-end" gap="sm">
          <Select
            label="Level"
            data={levels}
            value={level}
            allowDeselect={false}
            onChange={(value) => setLevel(value ?? "info")}
            w={220}
          />
          <TextInput
            label="Text"
            description="In the message or an attribute, such as a request id"
            maxLength={200}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            w={320}
          />
          <Button type="submit" variant="default">
            Show
          </Button>
        </Group>
      </form>
      {log.interrupted && (
        <Alert color="orange" role="status" title="The log is interrupted">
          The node does not answer, has too many readers, or you may not read its log. If the page does not go on by itself,
          load it again.
        </Alert>
      )}
      {log.missed > 0 && (
        <Text size="sm" role="status">
          {formatCount(log.missed)} records were written faster than they could be read, and are missing here.
        </Text>
      )}
      {!(log.interrupted && log.records === undefined) && <Records key={`${level} ${search}`} all={log.records} />}
    </Page>
  );
}

function Records({ all }: { all: LogRecord[] | undefined }) {
  // The page begins below a record and not at a position, so that new records do not move what is being read.
  const [below, setBelow] = useState<number | undefined>(undefined);
  const known = all ?? [];
  const from = below === undefined ? 0 : Math.max(0, known.findIndex((one) => one.number <= below));
  const to = from + pageSize;
  const startAt = (position: number) => setBelow(position <= 0 ? undefined : known[position]?.number);
  return (
    <DataTable<LogRecord>
      label="Records of the log"
      rows={all && known.slice(from, to)}
      rowKey={(one) => String(one.number)}
      minWidth={820}
      empty={<Empty title="No record fits">Records appear here as soon as the node writes them.</Empty>}
      pager={
        (from > 0 || known.length > to) && (
          <Pager
            label={from > 0 ? `After ${formatCount(from)} newer records` : "The newest records"}
            previous={from > 0 ? () => startAt(from - pageSize) : undefined}
            next={known.length > to ? () => startAt(to) : undefined}
          />
        )
      }
      columns={[
        { name: "Time", cell: (one) => <Time at={one.at} format="full" /> },
        { name: "Level", cell: (one) => <State of={one.level.toLowerCase()} /> },
        { name: "Message", cell: (one) => <Text size="sm">{one.message}</Text> },
        { name: "Attributes", cell: (one) => <Attributes of={one} /> },
      ]}
    />
  );
}

function Attributes({ of }: { of: LogRecord }) {
  return (
    <Stack gap={2}>
      {of.attributes.map(({ name, value }, index) => (
        <Text key={index} size="xs" ff="monospace" style={{ overflowWrap: "anywhere" }}>
          <Text span inherit c="dimmed">
            {name}=
          </Text>
          {value}
        </Text>
      ))}
    </Stack>
  );
}
