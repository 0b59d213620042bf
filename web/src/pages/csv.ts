// CSV files for spreadsheets.

// cell quotes a value. A text that a spreadsheet would run as a formula gets an apostrophe in front.
export function cell(value: string): string {
  const safe = /^[=+\-@\t\r]/.test(value) && !/^-?\d+(\.\d+)?$/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

// download hands the browser a file made of rows.
export function download(name: string, rows: string[][]) {
  const text = rows.map((row) => row.map(cell).join(",")).join("\r\n");
  const address = URL.createObjectURL(new Blob([`${text}\r\n`], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
