// The fields of the text members of a JSON schema.
import { Select, TextInput } from "@mantine/core";
import { propertiesOf } from "./fill";

interface SchemaFieldsProps {
  schema: Record<string, unknown>;
  values: Record<string, string>;
  change: (values: Record<string, string>) => void;
}

export const isText = (member: Record<string, unknown>) => member.type === "string";

export function SchemaFields({ schema, values, change }: SchemaFieldsProps) {
  const required = new Set(Array.isArray(schema.required) ? (schema.required as string[]) : []);
  const texts = propertiesOf(schema).filter(([, member]) => isText(member));
  return texts.map(([name, member]) =>
    Array.isArray(member.enum) ? (
      <Select
        key={name}
        label={name}
        required={required.has(name)}
        data={member.enum.map(String)}
        value={values[name] ?? null}
        onChange={(value) => change({ ...values, [name]: value ?? "" })}
      />
    ) : (
      <TextInput
        key={name}
        label={name}
        required={required.has(name)}
        value={values[name] ?? ""}
        description={typeof member.description === "string" ? member.description : undefined}
        maxLength={typeof member.maxLength === "number" ? member.maxLength : undefined}
        onChange={(event) => change({ ...values, [name]: event.currentTarget.value })}
      />
    ),
  );
}
