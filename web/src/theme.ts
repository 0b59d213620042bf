// Colours and type. Where the library's defaults have too little contrast for small text, they are darker or
// lighter here.
import { Alert, createTheme, type CSSVariablesResolver } from "@mantine/core";

export const theme = createTheme({
  primaryColor: "indigo",
  primaryShade: { light: 8, dark: 8 },
  defaultRadius: "md",
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace",
  headings: { fontWeight: "650" },
  respectReducedMotion: true,
  components: {
    // A screen reader interrupts for the role alert, so only failures have it. The title has the colour of text for
    // its contrast.
    Alert: Alert.extend({
      defaultProps: { role: "note", variant: "outline" },
      styles: { title: { color: "var(--mantine-color-text)" } },
    }),
  },
});

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-dimmed": "#545b62",
    "--mantine-color-placeholder": "#686f76",
    "--mantine-color-error": "#c92a2a",
    "--mantine-color-anchor": "#364fc7",
  },
  dark: {
    "--mantine-color-dimmed": "#b3b3b3",
    "--mantine-color-placeholder": "#a0a0a0",
    "--mantine-color-error": "#ffa8a8",
    "--mantine-color-anchor": "#91a7ff",
  },
});
