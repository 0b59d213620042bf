// The people of a marketplace, as the console's own service describes them.
import { useQuery } from "@tanstack/react-query";
import { request } from "./client";
import type { Role } from "./session";

export interface Person {
  id: string;
  email: string;
  name: string;
  role: Role;
  vendorId?: string;
  createdAt: string;
  secondFactor: boolean;
  sessions: { signedInAt: string; seenAt: string; address: string; userAgent: string }[];
}

export interface StaffInvitation {
  id: string;
  email: string;
  role: Role;
  acceptUrl: string;
  expiresAt: string;
}

export interface People {
  users: Person[];
  invitations: StaffInvitation[];
}

const path = "/users";

// The key begins like those of reads of the management API, so that a change repeats this read.
export const usePeople = () =>
  useQuery<People>({
    queryKey: [`GET ${path}`],
    queryFn: ({ signal }) => request("GET", path, { signal }),
  });

export const peoplePrefix = path;
export const invitePerson = (email: string, role: string) =>
  request<StaffInvitation>("POST", path, { body: { email, role } });
export const changeRole = (id: string, role: string) =>
  request("PATCH", `${path}/${encodeURIComponent(id)}`, { body: { role } });
export const removePerson = (id: string) => request("DELETE", `${path}/${encodeURIComponent(id)}`);
export const resetFactor = (id: string) => request("DELETE", `/second-factors/${encodeURIComponent(id)}`);
export const withdrawInvitation = (id: string) => request("DELETE", `${path}/invitations/${encodeURIComponent(id)}`);
