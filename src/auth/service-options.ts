import * as z from 'zod';
import { compileAddressRanges } from '../lib/address-ranges.ts';
import { isHeaderName } from '../lib/headers/header-names.ts';
import { integer, number, readOrIssue, textList, yesNo } from '../lib/option-types.ts';

/** Options of each service that listens and lets accounts in, whatever its protocol. */
export const loginServiceOptions = {
  name: z.string().default('').describe('Name for people and events; without it the UUID.'),
  description: z.string().default('').describe('Free text.'),
  enabled: yesNo().default(true).describe('A disabled service is not started.'),
  address: z.string().min(1).default('127.0.0.1').describe('Address to listen on; `0.0.0.0` or `::` for all.'),
  authentications: z
    .union([textList(), z.null()])
    .default(null)
    .describe('UUIDs of the authentication methods, in order; default: every enabled method in file order.'),
  public_error: yesNo().default(false).describe('Show the public part of a rejection to clients.'),
  idle_connection_timeout: number(1, 86_400)
    .default(300)
    .describe('Seconds without activity after which a connection is closed and a session ends.'),
  session_maximum_age: number(1, 31_536_000).default(43_200).describe('Longest life of a session, in seconds.'),
  maximum_concurrent_connections: integer(1, 1_000_000).default(10_000).describe('Connections at once; more are closed.'),
};

/** Port to listen on. */
export function servicePort(usual: number) {
  return integer(0, 65_535).default(usual).describe('Port to listen on; 0 = any free one.');
}

/** The header in which proxies name their client; empty = no header is believed. */
export function forwardedHeader() {
  return z
    .union([z.literal(''), z.null().transform(() => ''), z.string().refine(isHeaderName, 'must be a header name')])
    .default('')
    .describe("Header from which a trusted proxy's client address is taken, for example `X-Forwarded-For`.");
}

/** Loopback and private ranges: where proxies stand. */
const nearbyRanges = ['127.0.0.0/8', '::1/128', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'];

/** Addresses and ranges of proxies that are believed. */
export function proxyRanges() {
  return textList()
    .transform((items, context) => {
      readOrIssue(context, () => compileAddressRanges(items));
      return items.length > 0 ? items : [...nearbyRanges];
    })
    .default([...nearbyRanges]);
}
