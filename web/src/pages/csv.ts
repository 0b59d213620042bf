// Files for spreadsheets and other programs.

// cell quotes a value. A text that a spreadsheet would run as a formula gets an apostrophe in front.
export function cell(value: string): string {
  const safe = /^[=+\-@\t\r]/.test(value) && !/^-?\d+(\.\d+)?$/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

// download hands the browser a CSV file made of rows.
export function download(name: string, rows: string[][]) {
  const text = rows.map((row) => row.map(cell).join(",")).join("\r\n");
  save(name, new Blob([`${text}\r\n`], { type: "text/csv;charset=utf-8" }));
}

// save hands the browser a file.
export function save(name: string, content: Blob) {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
