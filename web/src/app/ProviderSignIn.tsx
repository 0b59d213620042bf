// The sign-in through an identity provider. It is a link: the browser leaves the console and comes back.
import { Alert, Button, Divider } from "@mantine/core";
import { useSearchParams } from "react-router";
import { serviceBase } from "../api/client";

// Why a sign-in at the provider began no session, by the results of the node.
const reasons: Record<string, string> = {
  invalid: "The sign-in took too long or was begun in another window. Try again.",
  refused: "The provider did not sign you in.",
  unverified: "The provider has not verified your e-mail address.",
  unknown: "Nobody has your e-mail address here. Ask an admin for an invitation.",
  "too-many": "There were too many failed attempts. Wait a few minutes, then try again.",
  unavailable: "The provider does not answer. Try again, or use your password.",
};

export function ProviderFailure({ provider }: { provider: string }) {
  const [parameters] = useSearchParams();
  const reason = reasons[parameters.get("signIn") ?? ""];
  if (!reason) return null;
  return (
    <Alert color="orange" title={`You are not signed in with ${provider}`} role="alert">
      {reason}
    </Alert>
  );
}

export function ProviderButton({ provider }: { provider: string }) {
  return (
    <>
      <Divider label="or" />
      <Button component="a" href={`${serviceBase}/oidc/start`} variant="default">
        Sign in with {provider}
      </Button>
    </>
  );
}
