// Uploads a file as an asset: creates the asset, then sends the file with the signed form that the answer describes.
import { FileInput, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { call } from "../api/client";
import { useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { FormDialog } from "../ui/Dialog";

type Body = Schemas["asset.Body"];

async function upload(vendor: string, name: string, file: File) {
  const asset = await call("POST /assets/asset", {
    query: { vendor_id: vendor },
    body: { name, mimetype: file.type as NonNullable<Body["mimetype"]> },
  });
  if (!asset.uploadUrl) throw new Error("The node answered without an address for the upload.");
  const address = new URL(asset.uploadUrl, window.location.origin);
  const form = new FormData();
  for (const [field, value] of Object.entries(asset.fields ?? {})) form.append(field, String(value));
  form.append("file", file);
  // The upload goes to this node under the name by which the console knows it, because the policy allows nothing else.
  const response = await fetch(address.pathname + address.search, { method: "POST", body: form });
  if (!response.ok) throw new Error(`The upload was refused: ${(await response.text()).slice(0, 500)}`);
}

const types = "image/jpeg,image/png,image/gif,image/webp,text/html,video/mp4,video/quicktime,application/json,text/vtt";

export function UploadAsset({ close }: { close: () => void }) {
  const { vendorId } = useCurrent();
  const [vendor, setVendor] = useState(vendorId ?? "");
  const [name, setName] = useState("");
  const [file, setFile] = useState<File | null>(null);
  const send = useWrite((chosen: File) => upload(vendor, name || chosen.name, chosen), "/assets");
  return (
    <FormDialog
      title="Upload an asset"
      opened
      close={close}
      submitLabel="Upload"
      busy={send.isPending}
      error={send.error}
      submit={() => file && send.mutate(file, { onSuccess: close })}
    >
      {!vendorId && (
        <TextInput
          label="Vendor"
          required
          value={vendor}
          onChange={(e) => setVendor(e.currentTarget.value)}
          data-autofocus
        />
      )}
      <FileInput
        label="File"
        required
        accept={types}
        value={file}
        onChange={setFile}
        placeholder="Choose a file"
        clearable
        clearButtonProps={{ "aria-label": "Remove the file" }}
      />
      <TextInput
        label="Name"
        placeholder={file?.name}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Text size="sm" c="dimmed">
        After the upload an operator approves the file before ads show it.
      </Text>
    </FormDialog>
  );
}
