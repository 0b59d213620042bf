// Events as storefronts report them: what became of each, and why requests were refused.
import { Alert, Anchor, Button, Group, Modal, Paper, Stack, Switch, Text, Title } from "@mantine/core";
import { useState } from "react";
import { useLive, type EventTotals, type LiveReport } from "../api/live";
import { useCurrent } from "../api/session";
import { State } from "../ui/Badges";
import { Identifier, Json } from "../ui/Copy";
import { DataTable } from "../ui/DataTable";
import { Bars, Figures } from "../ui/Figures";
import { formatCount, formatMajor, type Currency } from "../ui/money";
import { Page } from "../ui/Page";
import { Empty } from "../ui/States";
import { Time } from "../ui/time";

const keptMax = 100; // BOUND: requests that are kept.
const microsDigits = 6;

export default function Events() {
  const { marketplace } = useCurrent();
  const [paused, setPaused] = useState(false);
  const [reports, setReports] = useState<LiveReport[]>([]);
  const [totals, setTotals] = useState<EventTotals | null>(null);
  const [onlyOdd, setOnlyOdd] = useState(false);
  const [picked, setPicked] = useState<LiveReport | null>(null);
  const interrupted = useLive({
    events: (report) => {
      if (!paused) setReports((all) => [report, ...all.slice(0, keptMax - 1)]);
    },
    totals: setTotals,
  });
  const rows = reports.filter((one) => !onlyOdd || resultOf(one) !== "recorded");
  return (
    <Page
      title="Events"
      about="What storefronts report right now: a sample of many requests. The figures count all of them since the page was opened."
      actions={
        <Button variant="default" onClick={() => setPaused(!paused)}>
          {paused ? "Continue" : "Pause"}
        </Button>
      }
    >
      <Totals of={totals} interrupted={interrupted} />
      <Switch
        label="Only what was not recorded: refused, duplicate or late"
        checked={onlyOdd}
        onChange={(event) => setOnlyOdd(event.currentTarget.checked)}
      />
      <DataTable
        label="Requests with events"
        rows={rows}
        rowKey={(one, i) => `${one.requestId}-${i}`}
        minWidth={760}
        empty={
          <Empty title={reports.length > 0 ? "No request fits the filter" : "Waiting for the next events"}>
            {reports.length === 0 && (
              <>
                Storefronts report impressions, clicks, purchases and page views to <b>/v2/events</b>.
              </>
            )}
          </Empty>
        }
        columns={[
          { name: "Time", cell: (one) => <Time at={one.time} format="clock" /> },
          { name: "Result", cell: (one) => <State of={resultOf(one)} /> },
          { name: "What", cell: (one) => (one.errCode ? (one.message ?? one.errCode) : kindsOf(one)) },
          { name: "Charged", align: "right", cell: (one) => chargedOf(one, marketplace) },
          {
            name: "Inspect",
            hidden: true,
            align: "right",
            cell: (one) => (
              <Button
                size="xs"
                variant="default"
                onClick={() => setPicked(one)}
                aria-label={`Inspect the request ${one.requestId}`}
              >
                Inspect
              </Button>
            ),
          },
        ]}
      />
      <Modal
        opened={picked !== null}
        onClose={() => setPicked(null)}
        size="lg"
        title="Reported events"
        closeButtonProps={{ "aria-label": "Close" }}
      >
        {picked && <Report of={picked} currency={marketplace} />}
      </Modal>
    </Page>
  );
}

function Totals({ of, interrupted }: { of: EventTotals | null; interrupted: boolean }) {
  const refused = Object.entries(of?.refused ?? {}).sort(([, a], [, b]) => b - a);
  const count = refused.reduce((sum, [, n]) => sum + n, 0);
  const shown = (n: number | undefined) => (n === undefined ? "–" : formatCount(n));
  return (
    <Stack>
      <Figures
        of={[
          {
            label: "Recorded events",
            value: shown(of?.recorded),
            note: interrupted ? "the live stream is interrupted" : undefined,
          },
          { label: "Duplicates", value: shown(of?.duplicate), note: "reported before; the first one counts" },
          { label: "Late", value: shown(of?.late), note: "older than 30 days; without effect" },
          { label: "Refused requests", value: of ? formatCount(count) : "–", note: "nothing of them is recorded" },
        ]}
      />
      {refused.length > 0 && (
        <Paper withBorder radius="md" p="md">
          <Title order={2} size="h5" mb="sm">
            Why requests were refused
          </Title>
          <Bars
            of={refused.map(([code, n]) => ({
              key: code,
              count: n,
              text: formatCount(n),
              name: (
                <Anchor size="sm" href={`/docs/errors#${encodeURIComponent(code)}`} target="_blank">
                  {code.replaceAll("_", " ")}
                </Anchor>
              ),
            }))}
          />
        </Paper>
      )}
    </Stack>
  );
}

// resultOf is one word for a request: the first thing about it that needs a look.
function resultOf(one: LiveReport): string {
  if (one.errCode) return "refused";
  return ["late", "duplicate"].find((status) => one.events.some((event) => event.status === status)) ?? "recorded";
}

// kindsOf counts the events of a request by kind: "3 impressions, 1 click".
function kindsOf(one: LiveReport): string {
  const counts = new Map<string, number>();
  for (const { kind } of one.events) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts]
    .map(([kind, n]) => `${n} ${nameOf(kind, n)}`)
    .join(", ");
}

const nameOf = (kind: string, n: number) => {
  const name = kind === "pageviews" ? "page views" : kind;
  return n === 1 ? name.replace(/s$/, "") : name;
};

// chargedOf formats what the events were charged. The node sends integers of a millionth of the major unit.
function chargedOf(one: LiveReport, currency: Currency): string {
  const micros = one.events.reduce((sum, event) => sum + event.chargedMicros, 0);
  return micros === 0 ? "–" : money(micros, currency);
}

const shownMin = 100; // Millionths; smaller amounts would be shown as 0.

function money(micros: number, currency: Currency): string {
  if (micros < shownMin) return `< ${money(shownMin, currency)}`;
  const digits = String(micros).padStart(microsDigits + 1, "0");
  return formatMajor(`${digits.slice(0, -microsDigits)}.${digits.slice(-microsDigits)}`, currency);
}

function Report({ of, currency }: { of: LiveReport; currency: Currency }) {
  return (
    <Stack>
      <Text size="sm" component="div">
        <Time at={of.time} format="full" />, request <Identifier value={of.requestId} length={36} />
      </Text>
      {of.errCode && (
        <Alert color="red" title="Refused">
          <Group gap="md">
            <Text size="sm">{of.message ?? of.errCode}</Text>
            <Anchor size="sm" href={`/docs/errors#${encodeURIComponent(of.errCode)}`} target="_blank">
              What {of.errCode} means
            </Anchor>
          </Group>
        </Alert>
      )}
      {of.events.length > 0 && (
        <DataTable
          label="Events of the request"
          rows={of.events}
          rowKey={(one, i) => `${one.id}-${i}`}
          empty={null}
          minWidth={420}
          columns={[
            { name: "Event", cell: (one) => nameOf(one.kind, 1) },
            { name: "Id", cell: (one) => <Identifier value={one.id} length={24} /> },
            { name: "Result", cell: (one) => <State of={one.status} /> },
            {
              name: "Charged",
              align: "right",
              cell: (one) => (one.chargedMicros === 0 ? "–" : money(one.chargedMicros, currency)),
            },
          ]}
        />
      )}
      {of.request ? (
        <Json label="The request, with users masked" value={of.request} />
      ) : (
        <Text c="dimmed">The request was too large to be kept, or no JSON.</Text>
      )}
    </Stack>
  );
}
