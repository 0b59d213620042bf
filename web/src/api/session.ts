// The signed-in user, as the console's service describes it.
import { useQuery, type QueryClient } from "@tanstack/react-query";
import { createContext, useContext } from "react";
import { ApiError, request } from "./client";

export type Role = "admin" | "operator" | "analyst" | "vendorAdmin" | "vendorAnalyst";

export interface SessionMarketplace {
  id: string;
  name: string;
  currencyCode: string;
  currencyExponent: number;
  timeZone: string;
  role: Role;
  vendorId?: string;
}

export interface Session {
  user: { id: string; email: string; name: string };
  marketplaces: SessionMarketplace[];
  demo: boolean;
  version: string;
}

// Answered is a session as the service sends it: the currency's code is called currency there.
export interface Answered extends Omit<Session, "marketplaces"> {
  marketplaces: (Omit<SessionMarketplace, "currencyCode"> & { currency: string })[];
}

const sessionOf = (answer: Answered): Session => ({
  ...answer,
  marketplaces: answer.marketplaces.map(({ currency, ...rest }) => ({ ...rest, currencyCode: currency })),
});

// SignedOut is what the service answers without a session.
export interface SignedOut {
  needsAdmin: boolean;
  leaving?: boolean; // Set by this page, not by the service: the session is being ended.
  provider?: string; // Name of the identity provider through which people may sign in.
}

export const sessionKey = ["session"];

// useSession reads who is signed in: a Session, or SignedOut.
export function useSession() {
  return useQuery<Session | SignedOut, Error>({
    queryKey: sessionKey,
    queryFn: async ({ signal }) => {
      try {
        return sessionOf(await request<Answered>("GET", "/session", { signal }));
      } catch (error) {
        if (error instanceof ApiError && error.status === 401)
          return { needsAdmin: error.needsAdmin, ...(error.provider ? { provider: error.provider } : {}) };
        throw error;
      }
    },
    staleTime: 60_000,
  });
}

// enter shows the console to a user who has just signed in.
export const enter = (client: QueryClient, answer: Answered) => client.setQueryData(sessionKey, sessionOf(answer));

// leave shows the sign-in page, which forgets what the user has read; while leaving, it shows nothing but that it waits.
export const leave = (client: QueryClient, leaving?: "leaving") =>
  client.setQueryData(sessionKey, { needsAdmin: false, leaving: leaving !== undefined } satisfies SignedOut);

// forget removes everything that a user has read from the cache. No page may be shown meanwhile, or it would read
// again.
export const forget = (client: QueryClient) =>
  client.removeQueries({ predicate: (query) => query.queryKey[0] !== sessionKey[0] });

export const isSession = (answer: Session | SignedOut): answer is Session => "user" in answer;

export interface Current {
  session: Session;
  marketplace: SessionMarketplace; // The chosen one. A user may have another role in each.
  role: Role;
  canWrite: boolean; // Whether the role may change what it sees.
  vendorId?: string; // Set for users of a vendor: they see that vendor only.
}

export const CurrentContext = createContext<Current | null>(null);

// useCurrent returns the signed-in user and the chosen marketplace. It is for pages inside the shell.
export function useCurrent(): Current {
  const current = useContext(CurrentContext);
  if (!current) throw new Error("useCurrent is used outside of the shell");
  return current;
}

export const mayWrite = (role: Role) => role === "admin" || role === "operator" || role === "vendorAdmin";
export const ofVendor = (role: Role) => role === "vendorAdmin" || role === "vendorAnalyst";

export const roleNames: Record<Role, string> = {
  admin: "Admin",
  operator: "Operator",
  analyst: "Analyst",
  vendorAdmin: "Vendor admin",
  vendorAnalyst: "Vendor analyst",
};
