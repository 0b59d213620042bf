// Example values for a template's placeholders, and their insertion as text.

// escaped makes a text harmless inside markup.
const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

// fill replaces {{name}} in markup by the values, as text.
export function fill(markup: string, values: Record<string, string>): string {
  return markup.replace(/\{\{\s*([\w.-]+)\s*\}\}/g, (_, name: string) => escaped(values[name] ?? name));
}

// exampleOf makes a value that a JSON schema would accept, for previews.
export function exampleOf(schema: Record<string, unknown>, name = "text"): unknown {
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (schema.default !== undefined) return schema.default;
  switch (schema.type) {
    case "object":
      return Object.fromEntries(propertiesOf(schema).map(([key, member]) => [key, exampleOf(member, key)]));
    case "array":
      return [exampleOf((schema.items ?? {}) as Record<string, unknown>, name)];
    case "integer":
    case "number":
      return typeof schema.minimum === "number" ? schema.minimum : 1;
    case "boolean":
      return true;
    default:
      return typeof schema.maxLength === "number" ? name.slice(0, schema.maxLength) : name;
  }
}

export const propertiesOf = (schema: Record<string, unknown>) =>
  Object.entries((schema.properties ?? {}) as Record<string, Record<string, unknown>>);
