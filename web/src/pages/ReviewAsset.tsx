import { Button, Group, Textarea } from "@mantine/core";
import { useState } from "react";
import { call } from "../api/client";
import { useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { FormDialog } from "../ui/Dialog";
import { Failure } from "../ui/States";

// ReviewAsset approves or rejects an asset. A rejection needs a reason, which the vendor sees.
export function ReviewAsset({ asset }: { asset: Schemas["asset.Asset"] }) {
  const { canWrite, vendorId } = useCurrent();
  const [rejecting, setRejecting] = useState(false);
  const [reason, setReason] = useState("");
  const review = useWrite(
    (body: Schemas["asset.Review"]) =>
      call("POST /assets/asset/{asset_id}/review", { path: { asset_id: asset.id }, body }),
    "/assets",
  );
  if (!canWrite || vendorId || asset.status !== "pending_approval") return null;
  return (
    <>
      <Group mt="sm" gap="xs">
        <Button
          size="xs"
          loading={review.isPending}
          onClick={() => review.mutate({ status: "approved" })}
          aria-label={`Approve ${asset.name}`}
        >
          Approve
        </Button>
        <Button size="xs" variant="default" onClick={() => setRejecting(true)} aria-label={`Reject ${asset.name}`}>
          Reject
        </Button>
      </Group>
      {review.error && !rejecting && <Failure error={review.error} />}
      <FormDialog
        title={`Reject ${asset.name}?`}
        opened={rejecting}
        close={() => setRejecting(false)}
        submitLabel="Reject"
        danger
        busy={review.isPending}
        error={review.error}
        submit={() => review.mutate({ status: "rejected", reason }, { onSuccess: () => setRejecting(false) })}
      >
        <Textarea
          label="Reason"
          description="The vendor sees it"
          required
          value={reason}
          onChange={(e) => setReason(e.currentTarget.value)}
          data-autofocus
        />
      </FormDialog>
    </>
  );
}
