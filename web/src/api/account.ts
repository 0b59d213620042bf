// The user's own account: the second factor, as the console's own service describes it.
import { useQuery } from "@tanstack/react-query";
import { ApiError, request } from "./client";

export interface SecondFactor {
  on: boolean;
  since?: string;
  recoveryCodes: number;
  hasPassword: boolean;
}

// NewSecret is what an app has to read. The node shows it once.
export interface NewSecret {
  secret: string;
  address: string;
  qrCode: string; // SVG.
}

const path = "/second-factor";

// The key begins like those of reads of the management API, so that a change repeats this read.
export const useSecondFactor = () =>
  useQuery<SecondFactor>({
    queryKey: [`GET ${path}`],
    queryFn: ({ signal }) => request("GET", path, { signal }),
  });

export const factorPrefix = path;
export const beginFactor = (password: string) => request<NewSecret>("POST", path, { body: { password } });
export const confirmFactor = (code: string) => request<{ codes: string[] }>("PUT", path, { body: { code } });
export const turnOffFactor = (body: { password: string; code: string }) => request("POST", `${path}/off`, { body });
export const newRecoveryCodes = (body: { password: string; code: string }) =>
  request<{ codes: string[] }>("POST", `${path}/recovery-codes`, { body });

// needsCode reports whether a call was refused because the code of the second factor is missing or wrong.
export const needsCode = (error: unknown) => error instanceof ApiError && error.code === "second_factor_required";
