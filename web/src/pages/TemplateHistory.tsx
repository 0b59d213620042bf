// The versions of a template: who made each, how it differs from the present one, and a button that brings it back.
import { Box, Button, Group, Stack, Text, Title } from "@mantine/core";
import { useState } from "react";
import { call } from "../api/client";
import { useRead, useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { Identifier } from "../ui/Copy";
import { DataTable } from "../ui/DataTable";
import { ConfirmButton } from "../ui/Dialog";
import { lineDiff, type DiffLine } from "../ui/lineDiff";
import { Time } from "../ui/time";

type Version = Schemas["template.Version"];

interface HistoryProps {
  template: Schemas["resource.Template"];
  restored: () => void; // The template has changed, so what is shown of it is old.
}

export function TemplateHistory({ template, restored }: HistoryProps) {
  const [compared, setCompared] = useState<number | null>(null);
  const path = { json_template_id: template.id };
  const read = useRead("GET /campaign-service/json-templates/{json_template_id}/versions", { path });
  const restore = useWrite(
    (version: number) =>
      call("POST /campaign-service/json-templates/{json_template_id}/versions/{version}/restore", {
        path: { ...path, version },
      }),
    "/campaign-service/json-templates",
  );
  const versions = read.data?.versions;
  const present = versions?.[0];
  const picked = versions?.find((one) => one.version === compared);
  const bringBack = async (version: number) => {
    await restore.mutateAsync(version);
    restored();
  };
  return (
    <Stack gap="sm">
      <Title order={2} size="h5">
        History
      </Title>
      <DataTable
        label="History"
        empty={null}
        rows={versions}
        rowKey={(one) => String(one.version)}
        error={read.error}
        retry={() => void read.refetch()}
        minWidth={520}
        columns={[
          { name: "Version", cell: (one) => (one === present ? `${one.version} (now)` : one.version) },
          { name: "Changed", cell: (one) => <Time at={one.changedAt} /> },
          { name: "By", cell: (one) => <By version={one} /> },
          {
            name: "",
            cell: (one) =>
              one !== present && (
                <Group gap="xs" justify="flex-end">
                  <Button
                    size="xs"
                    variant="default"
                    aria-label={`Compare version ${one.version} with now`}
                    aria-pressed={one === picked}
                    onClick={() => setCompared(one === picked ? null : one.version)}
                  >
                    Compare
                  </Button>
                  {!template.isArchived && (
                    <ConfirmButton
                      label="Bring back"
                      subject={`version ${one.version}`}
                      title={`Bring version ${one.version} back?`}
                      question="Its name, description, schema and previews become a new version. Existing content is not checked again."
                      danger={false}
                      run={() => bringBack(one.version)}
                    />
                  )}
                </Group>
              ),
          },
        ]}
      />
      {picked && present && <Difference of={picked} to={present} />}
    </Stack>
  );
}

function By({ version }: { version: Version }) {
  if (version.userEmail) return <Text size="sm">{version.userEmail}</Text>;
  if (version.keyId) return <Identifier value={version.keyId} length={16} />;
  return (
    <Text size="sm" c="dimmed">
      not recorded
    </Text>
  );
}

// textOf is what a restore brings back, one member after the other.
function textOf(one: Version): string {
  const { name, description, previewScreenshot, previewUrl, jsonSchema } = one;
  return JSON.stringify({ name, description, previewScreenshot, previewUrl, jsonSchema }, null, 2);
}

const marks = { same: " ", removed: "-", added: "+" };
const colors: Record<DiffLine["kind"], string | undefined> = {
  same: undefined,
  removed: "var(--mantine-color-red-light)",
  added: "var(--mantine-color-green-light)",
};

function Difference({ of, to }: { of: Version; to: Version }) {
  const label = `From version ${of.version} to now`;
  return (
    <Stack gap={4}>
      <Text size="sm" fw={500}>
        {label}
      </Text>
      <Box
        role="region"
        aria-label={label}
        tabIndex={0}
        ff="monospace"
        fz="xs"
        style={{ overflow: "auto", maxHeight: 320, whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}
      >
        {lineDiff(textOf(of), textOf(to)).map((line, at) => (
          <div key={at} data-kind={line.kind} style={{ background: colors[line.kind] }}>
            {marks[line.kind]} {line.text}
          </div>
        ))}
      </Box>
    </Stack>
  );
}
