// The columns of the comparison of attribution models, on the page and in its CSV.
import type { Schemas } from "../api/schema";
import { major, type Currency } from "../ui/money";

export type Result = Schemas["report.ModelsReport"];

type Member = keyof Schemas["report.ModelsColumns"];

export const modelColumns: { name: string; member: Member }[] = [
  { name: "Reported", member: "reported" },
  { name: "Standard", member: "standard" },
  { name: "First click", member: "firstClick" },
  { name: "Linear", member: "linear" },
  { name: "Position", member: "position" },
  { name: "View only", member: "viewOnly" },
  { name: "Other windows", member: "otherWindows" },
  { name: "Not recomputable", member: "notRecomputable" },
];

// notRecomputable is how many credited purchases are in no model.
export function notRecomputable(result: Result): number {
  const of = result.purchases;
  return of ? of.buyerUnknown + of.changed + of.tooOld : 0;
}

export function csvOfModels(result: Result, currency: Currency): string[][] {
  const code = currency.currencyCode;
  return [
    [
      "campaign id",
      "campaign",
      "vendor",
      ...modelColumns.flatMap(({ name }) => [`${name} ${code}`, `${name} items`, `${name} pieces`]),
    ],
    ...result.campaigns.map((row) => [
      row.campaignId,
      row.campaignName,
      row.vendorId,
      ...modelColumns.flatMap(({ member }) => {
        const sales = row[member];
        return [major(sales.amountDecimal, currency.currencyExponent), sales.count, sales.quantity];
      }),
    ]),
  ];
}
