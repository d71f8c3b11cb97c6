import { ServiceError } from '../lib/errors.ts';
import type { Exchange } from './exchange.ts';
import { logout, nextOfQuery, postLogin } from './login.ts';
import { openapiYaml } from './openapi.ts';
import { loginPageReply } from './page-replies.ts';
import { openapiPage } from './pages/openapi-page.ts';
import { pageHeaders } from './pages/page-headers.ts';
import { updatePassword } from './password-update.ts';
import type { Handled } from './reply.ts';

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
  return loginPageReply(exchange, { status: 200, next: nextOfQuery(exchange) });
}

function showOpenapi(): Handled {
  const headers = { 'content-type': 'application/yaml; charset=utf-8', 'x-content-type-options': 'nosniff', 'cache-control': 'no-cache' };
  return { status: 200, headers, body: openapiYaml() };
}

function showOpenapiPage(): Handled {
  return { status: 200, headers: pageHeaders(), body: openapiPage() };
}

/** Actions of `/__svc__/<name>`, which need no authentication. */
export const services: Readonly<Record<string, Action>> = {
  login: byMethod({ GET: showLogin, HEAD: showLogin, POST: postLogin }),
  'openapi.yaml': byMethod({ GET: showOpenapi, HEAD: showOpenapi }),
  'openapi.html': byMethod({ GET: showOpenapiPage, HEAD: showOpenapiPage }),
  logout: byMethod({ GET: logout, POST: logout }),
};

/** Actions of `/home/__svc__/<name>`, for authenticated clients. */
export const accountServices: Readonly<Record<string, Action>> = {
  'password-update': byMethod({ POST: updatePassword }),
};
