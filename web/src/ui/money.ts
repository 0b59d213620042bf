// Amounts. The node sends integers in minor units, and explanations also fractions of them. They are moved to major
// units as text and never computed with as floating-point numbers.

export interface Currency {
  currencyCode: string;
  currencyExponent: number;
}

const fractionDigitsMax = 6; // The node computes in millionths of the major unit.

// major moves the decimal point of an amount in minor units: major("1234.5", 2) is "12.345".
export function major(minor: number | string, exponent: number): string {
  const text = plain(minor);
  const negative = text.startsWith("-");
  const [whole = "0", fraction = ""] = text.replace("-", "").split(".");
  const digits = whole.padStart(exponent + 1, "0");
  const point = digits.length - exponent;
  const rest = digits.slice(point) + fraction;
  return `${negative ? "-" : ""}${digits.slice(0, point)}${rest ? `.${rest}` : ""}`;
}

// plain writes a number without an exponent.
function plain(n: number | string): string {
  const text = String(n);
  return /e/i.test(text)
    ? Number(n)
        .toFixed(fractionDigitsMax)
        .replace(/\.?0+$/, "")
    : text;
}

// formatMoney formats an amount in minor units with its currency, in the notation of the reader's language.
export function formatMoney(minor: number | string, currency: Currency): string {
  return formatMajor(major(minor, currency.currencyExponent), currency);
}

// formatMajor formats an amount in major units, as events and prices carry it. The fraction has as many digits as the
// currency, and up to most digits where the amount has them.
export function formatMajor(amount: number | string, currency: Currency, most = 4): string {
  const digits = currency.currencyExponent;
  const text = plain(amount) as Intl.StringNumericLiteral;
  try {
    return new Intl.NumberFormat(undefined, {
      style: "currency",
      currency: currency.currencyCode,
      minimumFractionDigits: digits,
      maximumFractionDigits: Math.max(digits, most),
    }).format(text);
  } catch {
    return `${text} ${currency.currencyCode}`; // The code is not one that the browser formats.
  }
}

// counted writes a number of things in words, such as "1 purchase" or "2,500 purchases".
export const counted = (count: number, thing: string) => `${formatCount(count)} ${thing}${count === 1 ? "" : "s"}`;

// parseMoney reads an amount in major units as a person types it. It returns minor units, or undefined when the text is
// not such an amount.
export function parseMoney(text: string, currency: Currency): number | undefined {
  const match = /^\s*(\d{1,12})(?:[.,](\d+))?\s*$/.exec(text);
  if (!match) return undefined;
  const [, whole = "", fraction = ""] = match;
  if (fraction.length > currency.currencyExponent) return undefined;
  const minor = Number(whole + fraction.padEnd(currency.currencyExponent, "0"));
  return Number.isSafeInteger(minor) ? minor : undefined;
}

export const formatCount = (n: number) => new Intl.NumberFormat().format(n);

export const formatShare = (n: number, digits = 1) =>
  new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: digits }).format(n);
