// The few symbols of the console, drawn on a 24 × 24 grid. They repeat a word or have a label beside them.
import type { ReactNode } from "react";

function Icon({ children, size = 16 }: { children: ReactNode; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="2"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      {children}
    </svg>
  );
}

export const CopyIcon = () => (
  <Icon size={14}>
    <rect x="9" y="9" width="11" height="11" rx="2" />
    <path d="M5 15H4V4h11v1" />
  </Icon>
);
export const CheckIcon = () => (
  <Icon size={14}>
    <path d="M5 12l5 5L20 7" />
  </Icon>
);
export const SunIcon = () => (
  <Icon>
    <circle cx="12" cy="12" r="4" />
    <path d="M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5L19 19M5 19l1.5-1.5M17.5 6.5L19 5" />
  </Icon>
);
export const MoonIcon = () => (
  <Icon>
    <path d="M20 14A8 8 0 1 1 10 4a6.5 6.5 0 0 0 10 10z" />
  </Icon>
);
export const Mark = () => (
  <svg width="26" height="26" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
    <rect width="32" height="32" rx="7" fill="#3b5bdb" />
    <g fill="#fff" transform="rotate(-45 16 16)">
      <rect x="9" y="5" width="14" height="8" rx="2" />
      <rect x="14.5" y="13" width="3" height="14" rx="1.5" />
    </g>
  </svg>
);
