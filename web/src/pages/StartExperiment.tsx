// The form that starts an experiment.
import { Button, Group, NumberInput, Select, Stack, TextInput, Title } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { call } from "../api/client";
import { useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { Failure } from "../ui/States";

type Patch = Schemas["settings.ExperimentPatch"];
type Treatment = NonNullable<Patch["treatment"]>;

interface Kind {
  name: string;
  does: (value: number) => string;
  value?: { label: string; max: number; first: number };
}

// treatments are what an experiment may change.
export const treatments: Record<Treatment, Kind> = {
  "no-ads": { name: "No ads: what do all ads add?", does: () => "No ads" },
  reserve: {
    name: "Other reserve prices",
    does: (value) => `Reserve prices times ${value}`,
    value: { label: "Factor of all reserve prices", max: 10, first: 1.5 },
  },
  "learned-quality": {
    name: "Another weight of the learned quality",
    does: (value) => `A learned quality of ${value}`,
    value: { label: "Weight of the learned quality", max: 1, first: 0.6 },
  },
  "no-pacing": { name: "Budgets spent as fast as possible", does: () => "No pacing" },
};

export function StartExperiment() {
  const [name, setName] = useState("");
  const [percent, setPercent] = useState<number | string>(10);
  const [treatment, setTreatment] = useState<Treatment>("no-ads");
  const [value, setValue] = useState<number | string>(1.5);
  const start = useWrite(
    (experiment: Patch) => call("PATCH /marketplace-service/settings", { body: { experiment } }),
    "/marketplace-service",
    "/reporting-service/marketplace",
  );
  const takes = treatments[treatment].value;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    start.mutate({
      name: name.trim(),
      percent: Number(percent),
      treatment,
      ...(takes ? { value: Number(value) } : {}),
    });
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <Title order={2} size="h4">
          Start an experiment
        </Title>
        <TextInput
          label="Name"
          required
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <NumberInput
          label="Share of the users in percent"
          description="1 to 50; as many others are compared"
          required
          min={1}
          max={50}
          allowDecimal={false}
          value={percent}
          onChange={setPercent}
        />
        <Select
          label="What is changed for them"
          data={Object.entries(treatments).map(([key, kind]) => ({ value: key, label: kind.name }))}
          value={treatment}
          allowDeselect={false}
          onChange={(next) => {
            setTreatment(next as Treatment);
            setValue(treatments[next as Treatment].value?.first ?? 0);
          }}
        />
        {takes && (
          <NumberInput
            label={takes.label}
            description={`0 to ${takes.max}`}
            required
            min={0}
            max={takes.max}
            step={0.1}
            decimalScale={3}
            value={value}
            onChange={setValue}
          />
        )}
        {start.error && <Failure error={start.error} />}
        <Group>
          <Button type="submit" loading={start.isPending}>
            Start
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
