// The ranges of the overview and of a campaign. The reports count by hours and days, so nothing is shorter than an hour.
import { useAddressState } from "../ui/address";

const hourRanges = [
  { value: "1h", label: "This hour", hours: 1 },
  { value: "24h", label: "24 h", hours: 24 },
];

const dayRanges = [
  { value: "1", label: "Today", days: 1 },
  { value: "7", label: "7 days", days: 7 },
  { value: "30", label: "30 days", days: 30 },
];

export const rangeChoices = [...hourRanges, ...dayRanges].map(({ value, label }) => ({ value, label }));

export interface Range {
  value: string;
  hours?: number; // Present for ranges of hours, the present one included.
  days: number;
}

// useRange is the range in the address, which may say anything; the longest is the one without an address.
export function useRange(): [Range, (value: string) => void] {
  const [chosen, setRange] = useAddressState("days", "30");
  const hours = hourRanges.find(({ value }) => value === chosen);
  const days = dayRanges.find(({ value }) => value === chosen)?.days ?? 30;
  return [hours ? { value: chosen, hours: hours.hours, days: 1 } : { value: String(days), days }, setRange];
}
