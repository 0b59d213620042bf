// Saved views: filters under a name, kept by the browser. What they say is the query of an address, so a view can also be sent
// to somebody as a link.

export interface SavedView {
  name: string;
  query: string;
}

export const viewsMax = 20; // BOUND: views of one list.
export const viewNameMax = 60; // BOUND: characters of a name.
const queryMax = 1_000; // BOUND: characters of a query.

const keyOf = (list: string) => `gavel.views.${list}`;

// readViews returns what is stored, without what is no view: other versions of the console, and people, write there too.
export function readViews(list: string): SavedView[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(keyOf(list)) ?? "[]");
    if (!Array.isArray(stored)) return [];
    return stored.filter(isView).slice(0, viewsMax);
  } catch {
    return []; // Storage may be switched off, or hold no JSON.
  }
}

function isView(one: unknown): one is SavedView {
  const { name, query } = (one ?? {}) as Partial<SavedView>;
  return typeof name === "string" && typeof query === "string" && name.length <= viewNameMax && query.length <= queryMax;
}

// writeViews stores the views of a list and returns why that failed, or nothing.
export function writeViews(list: string, views: SavedView[]): string {
  try {
    localStorage.setItem(keyOf(list), JSON.stringify(views));
    return "";
  } catch {
    return "The browser did not store the view: its storage is full or switched off. The address of this page shows the same.";
  }
}

// withView adds a view, or replaces the one of its name. It returns why it cannot, or the views.
export function withView(views: SavedView[], view: SavedView): SavedView[] | string {
  const others = views.filter(({ name }) => name !== view.name);
  if (others.length >= viewsMax) return `There are ${viewsMax} views, as many as are kept. Delete one first.`;
  if (view.query.length > queryMax) return `The filters have more than ${queryMax} characters.`;
  return [...others, view].sort((a, b) => a.name.localeCompare(b.name));
}
