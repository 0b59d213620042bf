// What differs between two states of an object, as flat names and texts.
export interface ChangedMember {
  name: string;
  before: string;
  after: string;
}

function flat(value: unknown, name: string, into: Map<string, string>) {
  if (value && typeof value === "object" && !Array.isArray(value)) {
    for (const [member, inner] of Object.entries(value)) flat(inner, name ? `${name}.${member}` : member, into);
  } else {
    into.set(name, value === undefined ? "–" : JSON.stringify(value));
  }
}

// changedMembers compares two objects. It returns nothing when one of them is missing: then everything is new or gone.
export function changedMembers(before: unknown, after: unknown): ChangedMember[] {
  if (!before || !after) return [];
  const [old, now] = [new Map<string, string>(), new Map<string, string>()];
  flat(before, "", old);
  flat(after, "", now);
  return [...new Set([...old.keys(), ...now.keys()])]
    .map((name) => ({ name, before: old.get(name) ?? "–", after: now.get(name) ?? "–" }))
    .filter((member) => member.before !== member.after && member.name !== "updatedAt");
}
