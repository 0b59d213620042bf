// What a banner shows: the content of a template, and its preview as markup.
import type { Schemas } from "../api/schema";
import { exampleOf, fill, propertiesOf } from "../ui/fill";
import { isText } from "../ui/SchemaFields";

type Schema = Record<string, unknown>;

// otherMembers are examples of the required members of a schema that no text field sets.
export function otherMembers(schema: Schema): Record<string, unknown> {
  const required = Array.isArray(schema.required) ? (schema.required as string[]) : [];
  const others = propertiesOf(schema).filter(([name, member]) => !isText(member) && required.includes(name));
  return Object.fromEntries(others.map(([name, member]) => [name, exampleOf(member, name)]));
}

// contentOf puts the content together: the texts that are not empty, and the other members. Undefined for what is no JSON object.
export function contentOf(texts: Record<string, string>, others: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(others.trim() || "{}");
    if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return undefined;
    return { ...parsed, ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== "")) };
  } catch {
    return undefined;
  }
}

export interface Markup {
  html: string;
  css: string;
}

// markupOf returns what a banner looks like: the preview template of a placement with its template, filled with the content, or the
// members one below another; without a template the picture. Values are inserted as text.
export function markupOf(
  content: Record<string, unknown> | undefined,
  shown: Schemas["placement.Shown"] | undefined,
  picture: string | undefined,
): Markup {
  const texts = (of: Record<string, unknown>) =>
    Object.fromEntries(
      Object.entries(of).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]),
    );
  const image = picture ? fill('<img src="{{picture}}" alt="" style="max-width:100%">', { picture }) : "";
  if (!content) return { html: image, css: "" };
  if (shown?.html) return { html: fill(shown.html, { ...texts(content), ...(picture ? { picture } : {}) }), css: shown.css ?? "" };
  const members = Object.entries(texts(content)).map(([name, value]) => fill("<p>{{name}}: <b>{{value}}</b></p>", { name, value }));
  return { html: image + members.join(""), css: "body{padding:12px}" };
}
