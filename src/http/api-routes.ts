import { ServiceError } from '../lib/errors.ts';
import { sendAppearanceStyle, sendLogo } from './html/appearance.ts';
import { takeLoginMessage } from './html/flash.ts';
import { loginPageReply } from './html/page-replies.ts';
import { openapiPage } from './html/pages/openapi-page.ts';
import { apiPageHeaders } from './html/pages/page-headers.ts';
import { postTheme } from './html/theme.ts';
import type { Handled } from './reply/reply.ts';
import type { Exchange } from './request/exchange.ts';
import { logout, nextOfQuery, postLogin } from './rest/login.ts';
import { openapiYaml } from './rest/openapi.ts';
import { showPasswordPage, updatePassword } from './rest/password-update.ts';

type Action = (exchange: Exchange) => Promise<Handled> | Handled;

/** One action for each method; others are refused with 405. */
function byMethod(actions: Readonly<Record<string, Action>>): Action {
  const allow = Object.keys(actions).join(', ');
  return (exchange) => {
    const action = actions[exchange.method];
    if (action) return action(exchange);
    if (exchange.method === 'OPTIONS') return { status: 204, headers: { allow } };
    throw new ServiceError('method-not-allowed', `${exchange.method} is not supported here.`, { details: { allow } });
  };
}

function showLogin(exchange: Exchange): Handled {
  const { message, clearCookie } = takeLoginMessage(exchange);
  const reply = loginPageReply(exchange, { status: 200, message, next: nextOfQuery(exchange) });
  return clearCookie === undefined ? reply : { ...reply, headers: { ...reply.headers, 'set-cookie': clearCookie } };
}

function showOpenapi(): Handled {
  const headers = { 'content-type': 'application/yaml; charset=utf-8', 'x-content-type-options': 'nosniff', 'cache-control': 'no-cache' };
  return { status: 200, headers, body: openapiYaml() };
}

function showOpenapiPage(): Handled {
  return { status: 200, headers: apiPageHeaders(), body: openapiPage() };
}

/** Actions of `/__svc__/<name>`, which need no authentication. */
export const services: Readonly<Record<string, Action>> = {
  login: byMethod({ GET: showLogin, HEAD: showLogin, POST: postLogin }),
  'openapi.yaml': byMethod({ GET: showOpenapi, HEAD: showOpenapi }),
  'openapi.html': byMethod({ GET: showOpenapiPage, HEAD: showOpenapiPage }),
  logout: byMethod({ GET: logout, POST: logout }),
  theme: byMethod({ POST: postTheme }),
  'appearance.css': byMethod({ GET: sendAppearanceStyle, HEAD: sendAppearanceStyle }),
  logo: byMethod({ GET: sendLogo, HEAD: sendLogo }),
};

/** Actions of `/home/__svc__/<name>`, for authenticated clients. */
export const accountServices: Readonly<Record<string, Action>> = {
  'password-update': byMethod({ GET: showPasswordPage, HEAD: showPasswordPage, POST: updatePassword }),
};
