import * as z from 'zod';

const list = z.array(z.string()).nullable();

/** A token or a link as operators see it. Times are in ISO 8601. */
export const shownGrants = z.object({
  id: z.string().describe('Public ID. The secret is not stored.'),
  kind: z.enum(['token', 'link']),
  name: z.string().describe('Name of a token, or note of a link.'),
  account: z.string().describe('Name of the account.'),
  by: z.string().describe('The account or operator that created it.'),
  parent: z.string().nullable().describe('ID of the token with which it was created; null if it was created without one.'),
  path: z.union([z.string().nullable(), z.array(z.string())]).describe('Paths that the token or link can reach; null: all.'),
  permissions: list.describe('Permission keywords; null: those of the account.'),
  services: list.describe('UUIDs of the services that accept the token or link; null: all.'),
  addresses: list.describe('Addresses and CIDR ranges from which the token or link is accepted; null: all.'),
  created: z.string(),
  not_before: z.string().nullable(),
  expires: z.string(),
  last_used: z.string().nullable().describe('Time of the last use, to the minute.'),
  last_address: z.string().nullable(),
  link: z.enum(['download', 'drop']).optional(),
  has_password: z.boolean().optional(),
  maximum_downloads: z.number().nullish(),
  downloads: z.number().optional(),
  opened: z.number().optional(),
});
