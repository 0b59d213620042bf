// Words for states. The colour repeats what the word says and is never the only sign.
import type { MantineColor } from "@mantine/core";

const colours: Record<string, MantineColor> = {
  active: "green",
  on: "green",
  credited: "green",
  approved: "green",
  won: "green",
  delivered: "green",
  completed: "green",
  healthy: "green",
  ready: "green",
  accepted: "green",
  recorded: "green",
  sent: "green",
  onPlan: "green",
  leader: "green",
  pending: "yellow",
  pending_approval: "yellow",
  pending_upload: "yellow",
  in_progress: "yellow",
  retrying: "yellow",
  not_started: "yellow",
  in_transit: "yellow",
  queued: "yellow",
  limitedByBudget: "yellow",
  limitedByWallet: "yellow",
  limitedByBid: "yellow",
  limitedByReturn: "yellow",
  duplicate: "yellow",
  late: "yellow",
  suspended: "yellow",
  warn: "yellow",
  error: "red",
  rejected: "red",
  refused: "red",
  failed: "red",
  upload_error: "red",
  expired: "red",
  terminated: "red",
  returned: "red",
};

const words: Record<string, string> = {
  pending_approval: "pending approval",
  pending_upload: "waiting for upload",
  upload_error: "upload failed",
  in_progress: "in progress",
  not_started: "not started",
  in_transit: "in transit",
  onPlan: "on plan",
  notPaced: "not paced",
  limitedByBudget: "limited by budget",
  limitedByWallet: "limited by wallet",
  limitedByBid: "limited by bid",
  limitedByReturn: "limited by return",
  sponsored_brand: "sponsored brand",
  vendor_admin: "vendor admin",
  vendor_analyst: "vendor analyst",
};

export const wordOf = (state: string) => words[state] ?? state.replaceAll("_", " ");

// State shows a state as a word with a coloured dot. The word has the colour of text, so its contrast never suffers.
export function State({ of }: { of: string }) {
  return (
    <span className="state">
      <span className="state-dot" style={{ background: `var(--mantine-color-${colours[of] ?? "gray"}-6)` }} />
      {wordOf(of)}
    </span>
  );
}
