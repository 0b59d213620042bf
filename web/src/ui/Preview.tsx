// Shows markup of users in a frame that has no rights: no script, no form, no access to the console, no request
// outside.
import { Box } from "@mantine/core";

interface PreviewProps {
  html: string;
  css: string;
  label: string;
  height?: number;
  width?: number;
}

// documentOf puts text together as a document. Markup of users cannot leave the frame, so it is not cleaned: the
// sandbox has no permission, and the policy below forbids everything but inline styles and images of this node.
function documentOf(html: string, css: string): string {
  const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:";
  const style = css.replace(/<\/style/gi, "<\\/style");
  return (
    `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">` +
    `<style>body{margin:0;font-family:system-ui,sans-serif}</style><style>${style}</style>${html}`
  );
}

export function Preview({ html, css, label, height = 240, width }: PreviewProps) {
  return (
    <Box
      style={{
        overflow: "auto",
        border: "1px solid var(--mantine-color-default-border)",
        borderRadius: 8,
        background: "#fff",
      }}
    >
      <iframe
        title={label}
        sandbox=""
        referrerPolicy="no-referrer"
        srcDoc={documentOf(html, css)}
        tabIndex={-1}
        style={{ display: "block", border: 0, width: width ?? "100%", height }}
      />
    </Box>
  );
}
