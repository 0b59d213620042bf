import { TextInput } from "@mantine/core";

interface CodeProps {
  value: string;
  change: (value: string) => void;
  recovery?: boolean; // Whether a recovery code is accepted, too.
}

// CodeInput takes a code of the user's app. Phones offer the code of a message or of an app for it.
export function CodeInput({ value, change, recovery = true }: CodeProps) {
  return (
    <TextInput
      label="Code"
      description={recovery ? "The six digits of your app, or a recovery code" : "The six digits that the app shows"}
      autoComplete="one-time-code"
      inputMode={recovery ? "text" : "numeric"}
      required
      autoFocus
      data-autofocus
      maxLength={24}
      value={value}
      onChange={(event) => change(event.currentTarget.value)}
    />
  );
}
