// Templates: JSON schemas of what an ad contains, with a form made of the schema.
import { Anchor, Button, Group, JsonInput, Modal, Select, Stack, Switch, Text, TextInput, Title } from "@mantine/core";
import { useState } from "react";
import { call } from "../api/client";
import { useRead, useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { useAddressState } from "../ui/address";
import { State } from "../ui/Badges";
import { Json } from "../ui/Copy";
import { DataTable, useCursor } from "../ui/DataTable";
import { ConfirmButton, FormDialog } from "../ui/Dialog";
import { exampleOf } from "../ui/fill";
import { Page } from "../ui/Page";
import { SchemaFields } from "../ui/SchemaFields";
import { Empty, Failure } from "../ui/States";
import { Time } from "../ui/time";
import { TemplateHistory } from "./TemplateHistory";

type Template = Schemas["resource.Template"];

const paths = "/campaign-service/json-templates";
const firstSchema = JSON.stringify(
  { type: "object", required: ["headline"], properties: { headline: { type: "string", maxLength: 80 } } },
  null,
  2,
);

export default function Templates() {
  const { canWrite } = useCurrent();
  const cursor = useCursor();
  const [search, setSearch] = useAddressState("search", "");
  const [archived, setArchived] = useState(false);
  const [picked, setPicked] = useState<Template | null>(null);
  const [adding, setAdding] = useState(false);
  const templates = useRead(
    "GET /campaign-service/json-templates",
    {
      query: { limit: 25, next_page: cursor.page, search: search || undefined, include_archived: archived },
    },
    { keep: true },
  );
  const add = canWrite && <Button onClick={() => setAdding(true)}>Create template</Button>;
  return (
    <Page
      title="Templates"
      actions={add}
      about="What the content of a banner or sponsored brand must contain, as a JSON schema. The node keeps the newest 20 versions of each template."
    >
      <Group align="flex-end">
        <TextInput label="Search" value={search} onChange={(event) => setSearch(event.currentTarget.value)} w={220} />
        <Switch
          label="With archived"
          checked={archived}
          onChange={(event) => setArchived(event.currentTarget.checked)}
          mb={8}
        />
      </Group>
      <DataTable
        label="Templates"
        rows={templates.data?.jsonTemplates}
        rowKey={(one) => one.id}
        error={templates.error}
        minWidth={700}
        retry={() => void templates.refetch()}
        pager={cursor.pager(templates.data?.nextPage)}
        empty={
          search ? (
            <Empty title="No template fits the search" />
          ) : (
            <Empty title="There are no templates" action={add}>
              Placements of sponsored brands need one.
            </Empty>
          )
        }
        columns={[
          {
            name: "Template",
            cell: (one) => (
              <Anchor component="button" type="button" ta="left" onClick={() => setPicked(one)}>
                {one.name}
              </Anchor>
            ),
          },
          { name: "Format", cell: (one) => one.adFormat.replaceAll("_", " ") },
          {
            name: "Description",
            cell: (one) => (
              <Text size="sm" lineClamp={1}>
                {one.description}
              </Text>
            ),
          },
          { name: "State", cell: (one) => <State of={one.isArchived ? "archived" : "active"} /> },
          { name: "Changed", cell: (one) => <Time at={one.updatedAt} /> },
        ]}
      />
      <Modal
        opened={picked !== null}
        onClose={() => setPicked(null)}
        title={picked?.name}
        size="lg"
        closeButtonProps={{ "aria-label": "Close" }}
      >
        {picked && <Edit template={picked} close={() => setPicked(null)} />}
      </Modal>
      {adding && <Create close={() => setAdding(false)} />}
    </Page>
  );
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return value && typeof value === "object" && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function Edit({ template, close }: { template: Template; close: () => void }) {
  const { canWrite } = useCurrent();
  const [text, setText] = useState(JSON.stringify(template.jsonSchema, null, 2));
  const schema = parsed(text);
  const path = { json_template_id: template.id };
  const save = useWrite(
    (jsonSchema: Record<string, unknown>) =>
      call("PATCH /campaign-service/json-templates/{json_template_id}", { path, body: { jsonSchema } }),
    paths,
  );
  const archive = useWrite(
    () => call("POST /campaign-service/json-templates/{json_template_id}/archive", { path }),
    paths,
  );
  const archiveAndClose = async () => {
    await archive.mutateAsync(undefined);
    close();
  };
  return (
    <Stack>
      <SchemaInput text={text} change={setText} readOnly={!canWrite || template.isArchived} />
      {save.error && <Failure error={save.error} />}
      {canWrite && !template.isArchived && (
        <Group>
          <Button
            disabled={!schema}
            loading={save.isPending}
            onClick={() => schema && save.mutate(schema, { onSuccess: close })}
          >
            Save
          </Button>
          <ConfirmButton
            label="Archive"
            size="sm"
            title={`Archive ${template.name}?`}
            run={archiveAndClose}
            question="New campaigns cannot use the template. Those that use it go on."
          />
        </Group>
      )}
      {canWrite && <TemplateHistory template={template} restored={close} />}
      {schema && <SchemaForm schema={schema} />}
    </Stack>
  );
}

function SchemaInput({ text, change, readOnly }: { text: string; change: (text: string) => void; readOnly?: boolean }) {
  return (
    <JsonInput
      label="JSON schema"
      autosize
      minRows={8}
      maxRows={20}
      value={text}
      onChange={change}
      validationError="This is not JSON"
      readOnly={readOnly}
      spellCheck={false}
      styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
    />
  );
}

// SchemaForm shows the form that the schema describes, and the content that it makes.
function SchemaForm({ schema }: { schema: Record<string, unknown> }) {
  const [values, setValues] = useState<Record<string, string>>({});
  const content = { ...(exampleOf(schema) as object), ...values };
  return (
    <Stack gap="sm">
      <Title order={2} size="h5">
        The form that it makes
      </Title>
      <SchemaFields schema={schema} values={values} change={setValues} />
      <Json label="The content of an ad" value={content} />
    </Stack>
  );
}

function Create({ close }: { close: () => void }) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [format, setFormat] = useState("sponsored_brand");
  const [text, setText] = useState(firstSchema);
  const schema = parsed(text);
  const create = useWrite(
    (jsonSchema: Record<string, unknown>) =>
      call("POST /campaign-service/json-templates", {
        body: { name, description, adFormat: format as "banner", jsonSchema },
      }),
    paths,
  );
  return (
    <FormDialog
      title="Create a template"
      size="lg"
      opened
      close={close}
      submitLabel="Create template"
      busy={create.isPending}
      error={create.error}
      submit={() => schema && create.mutate(schema, { onSuccess: close })}
    >
      <TextInput
        label="Name"
        required
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        data-autofocus
      />
      <TextInput
        label="Description"
        required
        value={description}
        onChange={(event) => setDescription(event.currentTarget.value)}
      />
      <Select
        label="Format"
        value={format}
        onChange={(value) => setFormat(value ?? format)}
        allowDeselect={false}
        data={[
          { value: "sponsored_brand", label: "sponsored brand" },
          { value: "banner", label: "banner" },
        ]}
      />
      <SchemaInput text={text} change={setText} />
    </FormDialog>
  );
}
