import type { Duplex } from 'node:stream';
import type { TestContext } from 'node:test';
import { testPassword } from './secrets.ts';
import { RawSftp } from './sftp-session.ts';
import { type LoginAttempt, tryLogins } from './ssh.ts';

interface WithSubsystems {
  subsys(name: string, done: (error: Error | undefined, channel: Duplex) => void): void;
  on(event: 'close', listener: () => void): void;
  end(): void;
}

/** A client that has logged in and sends raw SFTP packets. */
export interface SftpLogin {
  sftp: RawSftp;
  client: WithSubsystems;
  ended: Promise<void>;
}

/**
 * Logs in over SSH and starts the SFTP subsystem.
 *
 * @param onBanner called with the server's banner before the login
 * @throws Error if the login is refused
 */
export async function loginSftp(
  t: TestContext,
  port: number,
  login: Partial<LoginAttempt> = {},
  onBanner?: (text: string) => void,
): Promise<SftpLogin> {
  const { client } = await tryLogins(t, port, [{ type: 'password', username: 'alice', password: testPassword, ...login }], {}, onBanner);
  if (!client) throw new Error('The login was refused.');
  const logged = client as unknown as WithSubsystems;
  const ended = new Promise<void>((resolve) => logged.on('close', resolve));
  const channel = await new Promise<Duplex>((resolve, reject) => {
    logged.subsys('sftp', (error, opened) => (error ? reject(error) : resolve(opened)));
  });
  channel.on('error', () => {});
  return { sftp: new RawSftp(channel), client: logged, ended };
}
