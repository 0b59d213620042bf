// The difference of two texts by lines: a longest common subsequence, after the lines that both begin and end with.
export interface DiffLine {
  kind: "same" | "removed" | "added";
  text: string;
}

const cellsMax = 4_000_000; // BOUND: of the table, 16 MB. Beyond it everything between beginning and end counts as changed.

// lineDiff returns the lines of both texts in order: what only the first has is removed, what only the second has is added.
export function lineDiff(before: string, after: string): DiffLine[] {
  const a = before.split("\n");
  const b = after.split("\n");
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const same = (lines: string[]) => lines.map((text): DiffLine => ({ kind: "same", text }));
  return [
    ...same(a.slice(0, head)),
    ...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...same(a.slice(a.length - tail)),
  ];
}

function middle(a: string[], b: string[]): DiffLine[] {
  const width = b.length + 1;
  const small = (a.length + 1) * width <= cellsMax;
  const common = new Uint32Array(small ? (a.length + 1) * width : 0); // How many lines a from i on and b from j on share.
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = a.length - 1; small && i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (small && i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: "same", text: a[i++]! });
      j++;
    } else if (i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ kind: "removed", text: a[i++]! });
    } else {
      lines.push({ kind: "added", text: b[j++]! });
    }
  }
  return lines;
}
