// Creates a banner campaign: an approved asset, the content of a template, or both, in a slot, with a preview in a frame.
import { Alert, Autocomplete, JsonInput, Select, SimpleGrid, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { useNavigate } from "react-router";
import { call } from "../api/client";
import { useRead, useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { FormDialog } from "../ui/Dialog";
import { parseMoney } from "../ui/money";
import { Preview } from "../ui/Preview";
import { SchemaFields } from "../ui/SchemaFields";
import { localAddress } from "./Assets";
import { contentOf, markupOf, otherMembers } from "./bannerContent";

// BOUND: what a field offers. Another slot is typed.
const [choicesMax, slotsMax] = [100, 50];

export function CreateBanner({ close }: { close: () => void }) {
  const { marketplace } = useCurrent();
  const navigate = useNavigate();
  const [vendor, setVendor] = useState("");
  const [typedVendor, setTypedVendor] = useState(""); // Once it is typed to its end: assets of a part of its id cannot be read.
  const [name, setName] = useState("");
  const [slot, setSlot] = useState("");
  const [target, setTarget] = useState("");
  const [assetId, setAsset] = useState<string | null>(null);
  const [templateId, setTemplate] = useState<string | null>(null);
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [others, setOthers] = useState("{}");
  const [bid, setBid] = useState("5");
  const [budget, setBudget] = useState("20");
  const slots = useRead("GET /media-service/slots", { query: { limit: slotsMax } });
  const assets = useRead(
    "GET /assets/assets",
    { query: { vendor_id: typedVendor, status: "approved", limit: choicesMax } },
    { enabled: typedVendor !== "" },
  );
  const templates = useRead("GET /campaign-service/json-templates", { query: { limit: choicesMax } });
  const placements = useRead("GET /placement-service/placements", { query: { limit: choicesMax } });
  const create = useWrite(
    (body: Schemas["campaign.Body"]) => call("POST /campaign-service/campaigns", { query: { vendor_id: vendor }, body }),
    "/campaign-service/campaigns",
  );

  const banners = (templates.data?.jsonTemplates ?? []).filter((one) => one.adFormat === "banner");
  const template = banners.find((one) => one.id === templateId);
  const asset = assets.data?.assets.find((one) => one.id === assetId);
  const content = template && contentOf(texts, others);
  const shown = placements.data?.placements.find((one) => one.jsonTemplateId === templateId)?.previewTemplate;
  const size = slots.data?.slots.find((one) => one.externalId === slot)?.dimensions.desktop;
  const [bidMinor, budgetMinor] = [parseMoney(bid, marketplace), parseMoney(budget, marketplace)];
  const wrong = `An amount in ${marketplace.currencyCode} with at most ${marketplace.currencyExponent} decimals`;
  const choose = (id: string | null) => {
    const schema = banners.find((one) => one.id === id)?.jsonSchema;
    setTemplate(id);
    setTexts({});
    setOthers(JSON.stringify(schema ? otherMembers(schema) : {}, null, 2));
  };
  const submit = () => {
    if (bidMinor === undefined || budgetMinor === undefined || (template && !content)) return;
    const creative = {
      ...(asset ? { assetId: asset.id } : {}),
      ...(template && content ? { jsonTemplateId: template.id, content } : {}),
    };
    create.mutate(
      {
        name,
        campaignType: "manual",
        adFormat: "banner",
        budget: { amount: budgetMinor, type: "daily" },
        bids: [
          {
            target: { type: "url", id: target },
            amount: bidMinor,
            formatProperties: { adFormat: "banner", slotId: slot, bannerAssets: [creative] },
          },
        ],
      },
      { onSuccess: ({ campaignId }) => void navigate(`/campaigns/${campaignId}`) },
    );
  };
  return (
    <FormDialog
      title="Create a banner campaign"
      size="xl"
      opened
      close={close}
      submit={submit}
      submitLabel="Create banner"
      busy={create.isPending}
      error={create.error ?? slots.error ?? templates.error ?? assets.error ?? placements.error}
    >
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput
          label="Vendor"
          placeholder="Vendor id"
          required
          data-autofocus
          value={vendor}
          onChange={(event) => {
            setVendor(event.currentTarget.value);
            setAsset(null);
            setTypedVendor("");
          }}
          onBlur={() => setTypedVendor(vendor.trim())}
        />
        <TextInput
          label="Name"
          required
          maxLength={255}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Autocomplete
          label="Slot"
          required
          value={slot}
          onChange={setSlot}
          data={(slots.data?.slots ?? []).map((one) => one.externalId)}
          description={slots.data?.slots.length === 0 ? "There are no slots; create one below Placements." : undefined}
        />
        <TextInput
          label="Opens"
          type="url"
          placeholder="https://shop.example/sale"
          required
          value={target}
          onChange={(event) => setTarget(event.currentTarget.value)}
        />
        <Select
          label="Asset"
          clearable
          searchable
          required={!template}
          value={assetId}
          onChange={setAsset}
          data={(assets.data?.assets ?? []).map((one) => ({ value: one.id, label: one.name }))}
          description={vendor && assets.data?.assets.length === 0 ? "This vendor has no approved asset." : undefined}
        />
        <Select
          label="Template"
          clearable
          searchable
          required={!asset}
          value={templateId}
          onChange={choose}
          data={banners.map((one) => ({ value: one.id, label: one.name }))}
        />
        <TextInput
          label={`Bid for 1,000 impressions (${marketplace.currencyCode})`}
          inputMode="decimal"
          required
          value={bid}
          error={bidMinor === undefined ? wrong : undefined}
          onChange={(event) => setBid(event.currentTarget.value)}
        />
        <TextInput
          label={`Daily budget (${marketplace.currencyCode})`}
          inputMode="decimal"
          required
          value={budget}
          error={budgetMinor === undefined ? wrong : undefined}
          onChange={(event) => setBudget(event.currentTarget.value)}
        />
      </SimpleGrid>
      {template && (
        <Stack gap="sm">
          <SchemaFields schema={template.jsonSchema} values={texts} change={setTexts} />
          <JsonInput
            label="Other members"
            description="Members of the template that are no texts, as JSON"
            autosize
            value={others}
            onChange={setOthers}
            error={contentOf(texts, others) ? undefined : "This is no JSON object"}
            spellCheck={false}
          />
        </Stack>
      )}
      {asset?.isExternal && (
        <Alert color="blue">The file is on another server, from which the console loads nothing: {asset.url}</Alert>
      )}
      {(asset || template) && (
        <Stack gap={4}>
          <Text size="sm">
            Preview{size ? ` of ${size.width} × ${size.height}` : ""}
            {template && !shown?.html ? "; no placement has a preview of this template, so its members are listed" : ""}
          </Text>
          <Preview
            label="Preview of the banner"
            {...markupOf(content, shown, asset && localAddress(asset))}
            width={size?.width}
            height={size?.height}
          />
        </Stack>
      )}
    </FormDialog>
  );
}
